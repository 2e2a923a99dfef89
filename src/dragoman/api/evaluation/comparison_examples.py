"""Select the example sentences of a comparison, and compute their attention maps."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dragoman.api.evaluation.system_arguments import System, bundle_of
from dragoman.api.translation.attention import AttentionMaps
from dragoman.api.translation.translator import Translator
from dragoman.engines.directions import in_direction
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.corpus_scores import sentence_scores
from dragoman.evaluation.results import Evaluation
from dragoman.inspection.comparison.report_types import (
    AttentionComparison,
    SentenceComparison,
    SystemAttention,
    SystemTranslation,
)
from dragoman.inspection.result import describe_map
from dragoman.text.words import count_words

_MIN_WORDS, _MAX_WORDS = 4, 30  # of a source whose map is readable next to others


def sentence_examples(
    evaluation: Evaluation, sources: Sequence[str], references: Sequence[str], maximum: int
) -> tuple[SentenceComparison, ...]:
    """Return the sentences with the largest differences between scores of first members, in descending order."""
    translations = {system.name: system.members[0].hypotheses for system in evaluation.systems}
    if maximum < 1 or len(translations) < 2:
        return ()
    scores = np.array([sentence_scores(each, references) for each in translations.values()])  # [systems, sentences]
    spread = scores.max(0) - scores.min(0)
    order = sorted(range(len(references)), key=lambda place: (-spread[place], place))
    chosen = [place for place in order if len({texts[place] for texts in translations.values()}) > 1][:maximum]
    return tuple(
        SentenceComparison(
            place + 1,
            sources[place],
            references[place],
            tuple(
                SystemTranslation(name, texts[place], float(scores[number, place]))
                for number, (name, texts) in enumerate(translations.items())
            ),
        )
        for place in chosen
    )


def attention_examples(
    systems: Sequence[System],
    evaluation: Evaluation,
    sources: Sequence[str],
    references: Sequence[str],
    positions: Sequence[int],
    *,
    threads: int | None = None,
) -> tuple[AttentionComparison, ...]:
    """Compute attention maps of the sentences at these positions with the first member of every system."""
    chosen = [sources[position] for position in positions]
    columns: list[list[SystemAttention]] = []
    for system, scored in zip(systems, evaluation.systems, strict=True):
        bundle = bundle_of(system.members[0])
        if bundle is None or not positions:
            continue
        hypotheses = [scored.members[0].hypotheses[position] for position in positions]
        columns.append(list(_maps(system.name, bundle, chosen, hypotheses, threads, evaluation.test_set.languages)))
    if not columns:
        return ()
    return tuple(
        AttentionComparison(position + 1, sources[position], references[position], maps)
        for position, maps in zip(positions, zip(*columns, strict=True), strict=True)
    )


def select_readable(differing: Sequence[SentenceComparison], sources: Sequence[str], maximum: int) -> list[int]:
    """Return positions of sentences of readable length: first of those that differ most, then of all."""
    candidates = [*(sentence.number - 1 for sentence in differing), *range(len(sources))]
    fit = [place for place in dict.fromkeys(candidates) if _MIN_WORDS <= count_words(sources[place]) <= _MAX_WORDS]
    return list(dict.fromkeys([*fit, *candidates]))[: max(0, maximum)]


def _maps(
    name: str,
    bundle: Path,
    sources: Sequence[str],
    targets: Sequence[str],
    threads: int | None,
    languages: tuple[str, str],
) -> Iterator[SystemAttention]:
    """Yield the maps of a model; a sentence that cannot be decoded again gets a note instead."""
    translator = in_direction(Translator.open(bundle, engine="torch", threads=threads), languages)
    for source, target in zip(sources, targets, strict=True):
        try:
            (attention,) = translator.attention([source], [target])
        except DataError as error:
            yield SystemAttention(name, target, note=f"no map: {error}")
        except ConfigError:
            yield SystemAttention(name, target, note="no map: this model has no attention")
        else:
            yield _map(name, target, attention)


def _map(name: str, target: str, attention: AttentionMaps) -> SystemAttention:
    """Return the default map: the last layer but one, or the only one, averaged over its heads."""
    aligned = attention.words()
    weights = aligned.between_words()
    if weights is None or not weights.size:
        return SystemAttention(name, target, note="no map: there are no words")
    layer = max(attention.layers - 1, 1)
    description = describe_map(layer, attention.layers, None, attention.heads, "predicted")
    return SystemAttention(name, target, aligned.source_words, aligned.target_words, weights, description=description)
