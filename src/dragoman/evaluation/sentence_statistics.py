"""What sacreBLEU counts in each sentence, kept, so that scores, intervals, tests and bins count nothing twice.

The counts and the scores made of them are sacreBLEU's to the last digit; BLEU's and chrF++'s n-grams are counted for
many sentences at once, and TER's edits found faster. sacreBLEU has no public way to score counts: all that this
package needs of its inner parts is used here and in `intervals`, and compared with its command by tests.
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

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.edit_rate import edits
from dragoman.evaluation.ngram_matches import ngram_matches

__all__ = ["METRICS", "NAMES", "Statistics", "check_counts", "corpus_statistics", "signed_metric"]

METRICS = ("bleu", "chrf", "ter")
"""The metrics by which translations are judged, as a user chooses them."""

NAMES = {"bleu": "bleu", "chrf": "chrf++", "ter": "ter"}
"""What their scores are called: `chrf` alone is chrF2, without words."""

_BLEU_ORDERS = 4
_CHARACTER_ORDERS, _WORD_ORDERS = 6, 2

_CODES = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}
"""Longer codes of the languages for which sacreBLEU has tokenizers of their own."""


@dataclass(frozen=True)
class Statistics:
    """The counts of one metric in every sentence of one system. Shape: counts [sentences, counts of the metric]."""

    metric: str
    language: str
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def select(self, rows: NDArray[np.intp]) -> Statistics:
        """Those of some sentences."""
        return Statistics(self.metric, self.language, self.counts[rows])


def corpus_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, metrics: Sequence[str] = METRICS, language: str = ""
) -> tuple[Statistics, ...]:
    """Count once what every metric needs; the language is that of the translations, and chooses BLEU's tokenizer.

    All that goes in and comes out can be sent to another process. Keep what comes out: the same translations are
    scored, divided by length and compared with others, and counting takes longest.
    """
    check_counts(hypotheses, references)
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise ConfigError(f"metrics must be of {', '.join(METRICS)}, got {unknown[0]!r}; leave it out")
    return tuple(_counted(name, language, hypotheses, references) for name in metrics)


def _counted(name: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    counts = _COUNTERS[name](signed_metric(name, language), hypotheses, references)
    return Statistics(name, language, counts)


def signed_metric(name: str, language: str) -> Metric:
    """Return the metric with sacreBLEU's defaults for this language, ready to sign for one reference a sentence."""
    metric: Metric
    if name == "bleu":
        metric = _bleu(language)
    elif name == "chrf":
        metric = CHRF(word_order=_WORD_ORDERS)
    else:
        metric = TER()
    metric.num_refs = 1  # else known only after sacreBLEU has counted by itself
    return metric


def check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be compared sentence by sentence."""
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"hypotheses and references must be as many, and at least one, got {len(hypotheses)} and "
            f"{len(references)}; give one reference for each translation"
        )


def _bleu(language: str) -> BLEU:
    code = language.lower().replace("_", "-").split("-")[0]
    code = _CODES.get(code, code)
    try:
        return BLEU(force=True, trg_lang=code)  # force: else it warns of texts that only look tokenized
    except RuntimeError:
        raise ConfigError(
            f"BLEU's tokenizer for {language} must be installed, got none; pip install 'sacrebleu[{code}]', or leave "
            "BLEU out of the metrics"
        ) from None


def _bleu_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Lengths of both sides, n-grams in common, n-grams of the hypothesis."""
    ours, theirs = ([_prepared(metric, text).split() for text in side] for side in (hypotheses, references))
    lengths = _lengths(ours)
    in_common = ngram_matches(ours, theirs, _BLEU_ORDERS)
    return np.column_stack([lengths, _lengths(theirs), in_common, _ngrams(lengths, _BLEU_ORDERS)])


def _chrf_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """For each order of characters, then of words: n-grams of the hypothesis, of the reference, in common."""
    assert isinstance(metric, CHRF)
    characters = [["".join(text.split()) for text in side] for side in (hypotheses, references)]
    words = [[metric._remove_punctuation(text) for text in side] for side in (hypotheses, references)]  # noqa: SLF001
    counts: list[NDArray[np.int64]] = []
    for (ours, theirs), orders in ((characters, _CHARACTER_ORDERS), (words, _WORD_ORDERS)):
        in_theirs = _ngrams(_lengths(theirs), orders)
        in_ours = np.where(in_theirs > 0, _ngrams(_lengths(ours), orders), 0)  # as sacreBLEU has it
        in_common = ngram_matches(ours, theirs, orders)
        counts.append(np.stack([in_ours, in_theirs, in_common], axis=2).reshape(len(ours), 3 * orders))
    return np.concatenate(counts, axis=1)


def _ter_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Edits, and words of the reference."""
    ours, theirs = ([_prepared(metric, text).split() for text in side] for side in (hypotheses, references))
    return np.column_stack(
        [[edits(first, second) for first, second in zip(ours, theirs, strict=True)], _lengths(theirs)]
    )


def _prepared(metric: Metric, text: str) -> str:
    prepared: str = metric._preprocess_segment(text)  # noqa: SLF001
    return prepared


def _lengths(sentences: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    return np.array([len(sentence) for sentence in sentences], np.int64)


def _ngrams(lengths: NDArray[np.int64], orders: int) -> NDArray[np.int64]:
    """How many n-grams of each order there are in so many tokens. Shape: [sentences, orders]."""
    counts: NDArray[np.int64] = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return counts


_COUNTERS: dict[str, Callable[[Metric, Sequence[str], Sequence[str]], NDArray[np.int64]]] = {
    "bleu": _bleu_counts,
    "chrf": _chrf_counts,
    "ter": _ter_counts,
}
