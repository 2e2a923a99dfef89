"""Which sentences a comparison shows: those that systems translate most differently, and maps of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dragoman.api.attention import Attention
from dragoman.api.systems import System, bundle_of
from dragoman.api.translator import Translator
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.by_length import source_length
from dragoman.evaluation.report import Evaluation
from dragoman.evaluation.sentence_scores import sentence_scores
from dragoman.inspection.comparison import AlignedMap, AlignedSentence, DifferingSentence, Translated

__all__ = ["aligned_sentences", "differing_sentences", "readable_places"]

_SHORTEST, _LONGEST = 4, 30  # words of a source whose map can be read beside others


def differing_sentences(
    evaluation: Evaluation, sources: Sequence[str], references: Sequence[str], most: int
) -> tuple[DifferingSentence, ...]:
    """The sentences whose scores lie farthest apart, those first; equal ones in their order.

    A system of several members is shown by its first. Sentences that all systems translate alike are left out.
    """
    translations = {system.name: system.members[0].hypotheses for system in evaluation.systems}
    if most < 1 or len(translations) < 2:
        return ()
    scores = np.array([sentence_scores(each, references) for each in translations.values()])  # [systems, sentences]
    spread = scores.max(0) - scores.min(0)
    order = sorted(range(len(references)), key=lambda place: (-spread[place], place))
    chosen = [place for place in order if len({texts[place] for texts in translations.values()}) > 1][:most]
    return tuple(
        DifferingSentence(
            place + 1,
            sources[place],
            references[place],
            tuple(
                Translated(name, texts[place], float(scores[number, place]))
                for number, (name, texts) in enumerate(translations.items())
            ),
        )
        for place in chosen
    )


def aligned_sentences(
    systems: Sequence[System],
    evaluation: Evaluation,
    sources: Sequence[str],
    references: Sequence[str],
    places: Sequence[int],
    *,
    threads: int | None = None,
) -> tuple[AlignedSentence, ...]:
    """Maps of the sentences at these places, by the first member of every system that is a model."""
    chosen = [sources[place] for place in places]
    columns: list[list[AlignedMap]] = []
    for system, scored in zip(systems, evaluation.systems, strict=True):
        bundle = bundle_of(system.members[0])
        if bundle is None or not places:
            continue
        hypotheses = [scored.members[0].hypotheses[place] for place in places]
        columns.append(list(_maps(system.name, bundle, chosen, hypotheses, threads)))
    if not columns:
        return ()
    return tuple(
        AlignedSentence(place + 1, sources[place], references[place], maps)
        for place, maps in zip(places, zip(*columns, strict=True), strict=True)
    )


def readable_places(differing: Sequence[DifferingSentence], sources: Sequence[str], most: int) -> list[int]:
    """Sentences whose maps can be read: of those that differ most, then of all, in their order."""
    candidates = [*(sentence.number - 1 for sentence in differing), *range(len(sources))]
    fit = [place for place in dict.fromkeys(candidates) if _SHORTEST <= source_length(sources[place]) <= _LONGEST]
    return list(dict.fromkeys([*fit, *candidates]))[: max(0, most)]


def _maps(
    name: str, bundle: Path, sources: Sequence[str], targets: Sequence[str], threads: int | None
) -> Iterator[AlignedMap]:
    """The maps of a model; a sentence that it cannot look at again has a note in place of one."""
    translator = Translator.open(bundle, engine="torch", threads=threads)
    for source, target in zip(sources, targets, strict=True):
        try:
            (looked,) = translator.attention([source], [target])
        except DataError as error:
            yield AlignedMap(name, target, note=f"no map: {error}")
        except ConfigError:
            yield AlignedMap(name, target, note="no map: this model has no attention")
        else:
            yield _map(name, target, looked)


def _map(name: str, target: str, looked: Attention) -> AlignedMap:
    """The usual map: of the last layer but one, or the only one, the mean over its heads."""
    aligned = looked.words()
    weights = aligned.between_words()
    if weights is None or not weights.size:
        return AlignedMap(name, target, note="no map: there are no words")
    layer = f"layer {max(looked.layers - 1, 1)} of {looked.layers}, " if looked.layers > 1 else ""
    heads = f"mean of {looked.heads} heads, " if looked.heads > 1 else ""
    which = f"{layer}{heads}as each word is written"
    return AlignedMap(name, target, aligned.source_words, aligned.target_words, weights, which=which)
