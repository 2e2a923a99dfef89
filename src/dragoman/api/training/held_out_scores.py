"""Score the trained model on the validation and test sets after training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.api.training.translation_scorer import translate_greedy
from dragoman.config import Config, CorpusConfig, DataConfig
from dragoman.config.corpus import Direction
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.saved_test_sets import text_file_names
from dragoman.data.token_pairs import SIDES
from dragoman.engines.directions import directed_tokenizers, target_prefix
from dragoman.evaluation.metrics.corpus_scores import compute_score
from dragoman.evaluation.results import SetScore, SignificanceTest
from dragoman.evaluation.significance import (
    DEFAULT_RESAMPLES,
    corpus_statistics,
    missing_bleu_package,
    paired_test,
)
from dragoman.models.base import Model
from dragoman.text import Normalizer, Tokenizer

_METRICS = ("bleu", "chrf")
_MAX_SENTENCES = 2000  # per set; `evaluate` scores complete sets


@dataclass(frozen=True)
class HeldOutSet:
    """Sentences that are not in the training data, as text."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    direction: Direction = field(kw_only=True)
    is_test: bool = field(default=True, kw_only=True)


def held_out_sets(
    prepared: PreparedData, config: Config, folder: Path, tokenizers: Mapping[str, Tokenizer]
) -> list[HeldOutSet]:
    """Return the validation set and each test set of a configuration; at most 2,000 validation sentences."""
    data = config.data
    assert data is not None
    sets = _validation_sets(prepared, data, tokenizers)
    for corpus in data.test_sets():
        sets += _in_directions(_read(corpus, config, folder), data.directions_of(corpus), data)
    if data.test_pairs:
        trained: dict[Direction, list[Direction]] = {}
        for corpus in data.train_pairs():
            trained.setdefault(data.languages_of(corpus), []).extend(data.directions_of(corpus))
        for pair, directions in trained.items():
            called = f"test.{'-'.join(pair)}" if data.is_multilingual else "test"
            texts = [(prepared.folder / name).read_text("utf-8") for name in text_file_names(called, *pair)]
            found = HeldOutSet("test", *(text.split("\n")[:-1] for text in texts), direction=pair)
            sets += _in_directions(found, list(dict.fromkeys(directions)), data)
    return [each for each in sets if each.sources]


def _validation_sets(prepared: PreparedData, data: DataConfig, tokenizers: Mapping[str, Tokenizer]) -> list[HeldOutSet]:
    """Return the first sentences of the validation set of each pair of languages, in all directions."""
    sets: list[HeldOutSet] = []
    if "validation" not in prepared.manifest["splits"]:
        return sets
    shards, split = prepared.shards("validation"), prepared.manifest["splits"]["validation"]
    for corpus in split["corpora"]:
        directions = [(source, target) for source, target in corpus.get("directions", [(data.source, data.target)])]
        rows = corpus["first_row"] + np.arange(min(_MAX_SENTENCES // len(split["corpora"]), corpus["rows"]))
        pairs = shards.gather(rows)
        sides = ([tokenizers[side].decode(ids.tolist()) for ids in getattr(pairs, side).split()] for side in SIDES)
        sets += _in_directions(
            HeldOutSet("validation", *sides, direction=directions[0], is_test=False), directions, data
        )
    return sets


def _in_directions(found: HeldOutSet, directions: Sequence[Direction], data: DataConfig) -> list[HeldOutSet]:
    """Return a set in each direction; with several directions in the model, its name has the languages."""
    if not data.is_multilingual:
        return [found]
    return [
        replace(
            found,
            name=f"{found.name} {' → '.join(direction)}",
            sources=found.sources if direction == found.direction else found.references,
            references=found.references if direction == found.direction else found.sources,
            direction=direction,
        )
        for direction in directions
    ]


def _read(corpus: CorpusConfig, config: Config, folder: Path) -> HeldOutSet:
    data = config.data
    assert data is not None
    source, target = data.languages_of(corpus)
    reader = open_corpus(corpus, source=source, target=target, folder=folder)
    columns: dict[str, list[str]] = {side: [] for side in SIDES}
    for chunk in reader.chunks(_MAX_SENTENCES):
        frame = chunk.read(max_line_bytes=data.max_line_bytes).frame
        for side in SIDES:
            columns[side] += frame[side].to_list()
    name = corpus.name or Path(reader.files()[0]).name
    return HeldOutSet(name, *(columns[side] for side in SIDES), direction=(source, target))


def translate_set(
    model: Model[Any, Any],
    tokenizers: dict[str, Tokenizer],
    config: Config,
    held_out: HeldOutSet,
    *,
    check: Callable[[], None],
) -> list[str]:
    """Translate up to 2,000 sentences greedily; `check` is called before each batch, and may raise."""
    assert config.data is not None
    normalize = Normalizer(form=config.tokenizer.normal_form)
    read = directed_tokenizers(config.data, held_out.direction, tokenizers)["source"]
    sources = [read.encode(normalize(text)) for text in held_out.sources[:_MAX_SENTENCES]]
    prefix = target_prefix(config.data, held_out.direction, tokenizers["target"])
    hypotheses = translate_greedy(model, sources, check=check, target_prefix=prefix)
    return [tokenizers["target"].decode(hypothesis.tokens) for hypothesis in hypotheses]


def score_set(
    held_out: HeldOutSet, texts: Sequence[str], called: str, *, before: Sequence[str] | None = None
) -> SetScore:
    """Score translations by chrF++, and BLEU if its tokenizer is installed; test them against the model before."""
    references, language = held_out.references[: len(texts)], held_out.direction[1]
    metrics = _METRICS if missing_bleu_package(language) is None else ("chrf",)
    found = corpus_statistics(texts, references, metrics=metrics, language=language)
    scores = tuple(compute_score(each, resamples=DEFAULT_RESAMPLES) for each in found)
    tests: tuple[SignificanceTest, ...] = ()
    if before is not None:
        others = corpus_statistics(before, references, metrics=metrics, language=language)
        tests = tuple(paired_test(other, each) for other, each in zip(others, found, strict=True))
    return SetScore(held_out.name, called, len(texts), scores, tests)
