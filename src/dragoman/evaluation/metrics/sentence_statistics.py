"""Count the statistics of BLEU, chrF and TER per sentence, once; corpus scores and significance tests reuse them.

The statistics equal sacreBLEU's to the last digit. N-grams of BLEU and chrF++ are counted for many sentences together,
and edits of TER are found by a faster algorithm. sacreBLEU has no public function that scores statistics: its private
parts are used only here and in `significance.bootstrap`, and tests compare the results with its command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.ngrams import ngram_matches
from dragoman.evaluation.metrics.ter import count_edits

__all__ = ["SCORE_NAMES", "Statistics", "check_sizes", "corpus_statistics", "missing_bleu_package", "signed_metric"]

SCORE_NAMES = {"bleu": "bleu", "chrf": "chrf++", "ter": "ter"}
"""Names of their scores: `chrf` alone is chrF2, without words."""

_BLEU_ORDERS = 4
_CHARACTER_ORDERS, _WORD_ORDERS = 6, 2

_CODES = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}
"""Three-letter codes of languages for which sacreBLEU has a tokenizer."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of one metric for every sentence of one system. Shape: counts [sentences, statistics]."""

    metric: str
    language: str
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def select(self, rows: NDArray[np.intp]) -> Statistics:
        """Return the statistics of some sentences."""
        return Statistics(self.metric, self.language, self.counts[rows])


def corpus_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, metrics: Sequence[str] = METRICS, language: str = ""
) -> tuple[Statistics, ...]:
    """Compute the statistics of every metric; `language`, that of the translations, selects BLEU's tokenizer.

    Arguments and results can be pickled. Reuse the results: computing them is the slowest part of scoring.
    """
    check_sizes(hypotheses, references)
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise ConfigError(f"metrics must be of {', '.join(METRICS)}, got {unknown[0]!r}; leave it out")
    return tuple(_compute(name, language, hypotheses, references) for name in metrics)


def _compute(name: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    counts = _COUNTERS[name](signed_metric(name, language), hypotheses, references)
    return Statistics(name, language, counts)


def signed_metric(name: str, language: str) -> Metric:
    """Return the metric with sacreBLEU's defaults for this language, ready to sign for one reference per sentence."""
    metric: Metric
    if name == "bleu":
        metric = _bleu(language)
    elif name == "chrf":
        metric = CHRF(word_order=_WORD_ORDERS)
    else:
        metric = TER()
    metric.num_refs = 1  # sacreBLEU sets it only when it computes statistics itself
    return metric


def missing_bleu_package(language: str) -> str | None:
    """Return the package with BLEU's tokenizer for a language if it is not installed, such as ``sacrebleu[ja]``."""
    code = _sacrebleu_code(language)
    try:
        BLEU(trg_lang=code)
    except RuntimeError:
        return f"sacrebleu[{code}]"
    return None


def check_sizes(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise `DataError` unless there is one reference per hypothesis."""
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"hypotheses and references must be as many, and at least one, got {len(hypotheses)} and "
            f"{len(references)}; give one reference for each translation"
        )


def _bleu(language: str) -> BLEU:
    package = missing_bleu_package(language)
    if package is not None:
        raise ConfigError(
            f"BLEU's tokenizer for {language} must be installed, got none; pip install '{package}', or leave BLEU out "
            "of the metrics"
        )
    return BLEU(force=True, trg_lang=_sacrebleu_code(language))  # force: no warning about texts that look tokenized


def _sacrebleu_code(language: str) -> str:
    code = language.lower().replace("_", "-").split("-")[0]
    return _CODES.get(code, code)


def _bleu_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Lengths of both sides, matching n-grams, n-grams of the hypothesis."""
    ours, theirs = ([_preprocess(metric, text).split() for text in side] for side in (hypotheses, references))
    lengths = _lengths(ours)
    matching = ngram_matches(ours, theirs, _BLEU_ORDERS)
    return np.column_stack([lengths, _lengths(theirs), matching, _ngram_counts(lengths, _BLEU_ORDERS)])


def _chrf_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """For each order of characters, then of words: n-grams of the hypothesis, of the reference, matching."""
    assert isinstance(metric, CHRF)
    characters = [["".join(text.split()) for text in side] for side in (hypotheses, references)]
    words = [[metric._remove_punctuation(text) for text in side] for side in (hypotheses, references)]  # noqa: SLF001
    counts: list[NDArray[np.int64]] = []
    for (ours, theirs), orders in ((characters, _CHARACTER_ORDERS), (words, _WORD_ORDERS)):
        in_theirs = _ngram_counts(_lengths(theirs), orders)
        in_ours = np.where(in_theirs > 0, _ngram_counts(_lengths(ours), orders), 0)  # as in sacreBLEU
        matching = ngram_matches(ours, theirs, orders)
        counts.append(np.stack([in_ours, in_theirs, matching], axis=2).reshape(len(ours), 3 * orders))
    return np.concatenate(counts, axis=1)


def _ter_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Edits and words of the reference."""
    ours, theirs = ([_preprocess(metric, text).split() for text in side] for side in (hypotheses, references))
    return np.column_stack(
        [[count_edits(first, second) for first, second in zip(ours, theirs, strict=True)], _lengths(theirs)]
    )


def _preprocess(metric: Metric, text: str) -> str:
    prepared: str = metric._preprocess_segment(text)  # noqa: SLF001
    return prepared


def _lengths(sentences: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    return np.array([len(sentence) for sentence in sentences], np.int64)


def _ngram_counts(lengths: NDArray[np.int64], orders: int) -> NDArray[np.int64]:
    """Return the number of n-grams of each order. Shapes: [sentences] -> [sentences, orders]."""
    counts: NDArray[np.int64] = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return counts


_COUNTERS: dict[str, Callable[[Metric, Sequence[str], Sequence[str]], NDArray[np.int64]]] = {
    "bleu": _bleu_counts,
    "chrf": _chrf_counts,
    "ter": _ter_counts,
}
