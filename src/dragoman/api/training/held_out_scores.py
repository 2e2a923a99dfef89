"""Score the trained model on the validation and test sets after training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.api.training.translation_scorer import translate_greedy
from dragoman.config import Config, CorpusConfig
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.test_sets import text_file_names
from dragoman.data.token_pairs import SIDES
from dragoman.evaluation.metrics.corpus_scores import compute_score
from dragoman.evaluation.metrics.sentence_statistics import corpus_statistics, missing_bleu_package
from dragoman.evaluation.results import Score, SignificanceTest
from dragoman.evaluation.significance.bootstrap import DEFAULT_RESAMPLES
from dragoman.evaluation.significance.paired import paired_test
from dragoman.models.base import Model
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.normalize import Form

__all__ = ["HeldOutSet", "SetScore", "held_out_sets", "score_set", "translate_set"]

_METRICS = ("bleu", "chrf")
_MAX_SENTENCES = 2000  # per set; `evaluate` scores complete sets


@dataclass(frozen=True)
class HeldOutSet:
    """Sentences that are not in the training data, as text."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    is_test: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class SetScore:
    """Scores of one model on one set; `model` is "new", or "before" for the model that training started from.

    `tests` compare the new model with the one before.
    """

    name: str
    model: str
    sentences: int
    scores: tuple[Score, ...]
    tests: tuple[SignificanceTest, ...] = ()


def held_out_sets(
    prepared: PreparedData, config: Config, folder: Path, tokenizers: Mapping[str, Tokenizer]
) -> list[HeldOutSet]:
    """Return the validation set and each test set of a configuration; at most 2,000 validation sentences."""
    assert config.data is not None
    sets = [_read(corpus, config, folder) for corpus in config.data.test]
    if config.data.test_pairs:
        names = text_file_names("test", config.data.source, config.data.target)
        texts = [(prepared.folder / name).read_text("utf-8") for name in names]
        sets.append(HeldOutSet("test", *(text.split("\n")[:-1] for text in texts)))
    if "validation" in prepared.manifest["splits"]:
        shards = prepared.shards("validation")
        rows = np.arange(min(_MAX_SENTENCES, len(shards)))
        pairs = shards.gather(rows)
        sides = ([tokenizers[side].decode(ids.tolist()) for ids in getattr(pairs, side).split()] for side in SIDES)
        sets.insert(0, HeldOutSet("validation", *sides, is_test=False))
    return [each for each in sets if each.sources]


def _read(corpus: CorpusConfig, config: Config, folder: Path) -> HeldOutSet:
    data = config.data
    assert data is not None
    reader = open_corpus(corpus, source=data.source, target=data.target, folder=folder)
    columns: dict[str, list[str]] = {side: [] for side in SIDES}
    for chunk in reader.chunks(_MAX_SENTENCES):
        frame = chunk.read(on_bad_line=data.on_bad_line, max_line_bytes=data.max_line_bytes).frame
        for side in SIDES:
            columns[side] += frame[side].to_list()
    name = corpus.name or Path(reader.files()[0]).name
    return HeldOutSet(name, *(columns[side] for side in SIDES))


def translate_set(
    model: Model[Any, Any],
    tokenizers: Mapping[str, Tokenizer],
    normal_form: Form,
    held_out: HeldOutSet,
    *,
    check: Callable[[], None],
) -> list[str]:
    """Translate up to 2,000 sentences greedily; `check` is called before each batch, and may raise."""
    normalize = Normalizer(form=normal_form)
    sources = [tokenizers["source"].encode(normalize(text)) for text in held_out.sources[:_MAX_SENTENCES]]
    hypotheses = translate_greedy(model, sources, check=check)
    return [tokenizers["target"].decode(hypothesis.tokens) for hypothesis in hypotheses]


def score_set(
    held_out: HeldOutSet, texts: Sequence[str], called: str, *, language: str, before: Sequence[str] | None = None
) -> SetScore:
    """Score translations with BLEU and chrF++, with 95 % intervals, and test them against those of the model before.

    There is no BLEU if its tokenizer for the language is not installed.
    """
    references = held_out.references[: len(texts)]
    metrics = _METRICS if missing_bleu_package(language) is None else ("chrf",)
    found = corpus_statistics(texts, references, metrics=metrics, language=language)
    scores = tuple(compute_score(each, resamples=DEFAULT_RESAMPLES) for each in found)
    tests: tuple[SignificanceTest, ...] = ()
    if before is not None:
        others = corpus_statistics(before, references, metrics=metrics, language=language)
        tests = tuple(paired_test(other, each) for other, each in zip(others, found, strict=True))
    return SetScore(held_out.name, called, len(texts), scores, tests)
