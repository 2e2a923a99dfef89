"""Count the statistics of BLEU, chrF and TER per sentence, once; corpus scores and significance tests reuse them.

The statistics equal sacreBLEU's to the last digit. N-grams of BLEU and chrF++ are counted for many sentences together,
and edits of TER are found by a faster algorithm. sacreBLEU has no public function that scores statistics: its private
parts are used only here and in `significance.bootstrap`, and tests compare the results with its command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.metrics.ter import count_edits
from dragoman.plugins import find_plugin, load_plugin, plugin_names

_SCORE_NAMES = {"chrf": "chrf++"}  # chrF alone is chrF2, without words

_BLEU_ORDERS = 4
_CHARACTER_ORDERS, _WORD_ORDERS = 6, 2
_BLOCK = 1 << 16  # tokens sorted together: they fit the cache, and the overhead of calls is negligible

_CODES = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}
"""Three-letter codes of languages for which sacreBLEU has a tokenizer."""


class PluginMetric(ABC):
    """A metric that counts something in every sentence; the sums of the counts determine the score of a corpus.

    Intervals and significance tests resample the sentences and need no code of the plug-in.
    """

    is_lower_better: ClassVar[bool] = False

    def __init__(self, name: str, language: str) -> None:
        """`language` is that of the translations; empty if it is unknown."""
        self.name, self.language = name, language
        self.num_refs = 1
        self.n_bootstrap: int | None = None
        self.seed: str | None = None

    @abstractmethod
    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
        """Count each sentence by itself. Shape: [sentences, counts]."""

    @abstractmethod
    def value(self, totals: Sequence[float]) -> float:
        """Compute the score from the sums of the counts. Shape: [counts]."""

    def get_signature(self) -> Signature:
        """Return the signature, with the package and its version."""
        signature = Signature(vars(self))
        plugin = find_plugin("metrics", self.name)
        if plugin is not None:
            signature.update("package", plugin.package)
            signature.update("version", plugin.version)
        return signature

    def _compute_score_from_stats(self, totals: Sequence[float]) -> Score:
        return Score(self.name, float(self.value(totals)))


def plugin_metric(name: str, language: str) -> PluginMetric:
    """Import and create a metric of a plug-in."""
    kind = load_plugin("metrics", name)
    if not (isinstance(kind, type) and issubclass(kind, PluginMetric)):
        raise MissingExtraError(f"{find_plugin('metrics', name)} must be a subclass of PluginMetric, got {kind!r}")
    return kind(name, language)


@dataclass(frozen=True)
class Statistics:
    """Statistics of one metric for every sentence of one system. Shape: counts [sentences, statistics]."""

    metric: str
    language: str
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def signed_metric(self) -> Metric | PluginMetric:
        """Return the metric for the language of the statistics, ready to sign."""
        known = self.metric in METRICS
        return signed_metric(self.metric, self.language) if known else plugin_metric(self.metric, self.language)

    @property
    def score_name(self) -> str:
        return _SCORE_NAMES.get(self.metric, self.metric)

    def select(self, rows: NDArray[np.intp]) -> Statistics:
        return Statistics(self.metric, self.language, self.counts[rows])


def corpus_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, metrics: Sequence[str] = METRICS, language: str = ""
) -> tuple[Statistics, ...]:
    """Compute the statistics of every metric; `language`, that of the translations, selects BLEU's tokenizer.

    Arguments and results can be pickled. Reuse the results: computing them is the slowest part of scoring.
    """
    check_sizes(hypotheses, references)
    legal = (*METRICS, *plugin_names("metrics"))
    unknown = [name for name in metrics if name not in legal]
    if unknown:
        raise ConfigError(f"metrics must be of {', '.join(legal)}, got {unknown[0]!r}; leave it out")
    return tuple(_compute(name, language, hypotheses, references) for name in metrics)


def _compute(name: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    if name not in METRICS:
        return Statistics(name, language, plugin_metric(name, language).count(hypotheses, references))
    return Statistics(name, language, _COUNTERS[name](signed_metric(name, language), hypotheses, references))


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
            f"BLEU's tokenizer for {language} is not installed; pip install '{package}', or leave BLEU out of the "
            "metrics"
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


# ------------------------------------------------------------------------------------------------------------ n-grams


def ngram_matches(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], orders: int
) -> NDArray[np.int64]:
    """Count the matching n-grams of each order per sentence, clipped as in BLEU.

    A sentence is a list of words, or a string whose characters are the tokens. Shape: [sentences, orders].
    """
    found = []
    first, size = 0, 0
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True), start=1):
        size += len(hypothesis) + len(reference)
        if size >= _BLOCK or number == len(hypotheses):
            found.append(_matches(hypotheses[first:number], references[first:number], orders))
            first, size = number, 0
    return np.concatenate(found) if found else np.zeros((0, orders), np.int64)


def _matches(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], orders: int
) -> NDArray[np.int64]:
    sides = [*hypotheses, *references]
    lengths = np.array([len(side) for side in sides])
    tokens = _token_numbers(sides)
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(tokens))  # tokens up to the end of the sentence
    sentence = np.repeat(np.tile(np.arange(len(hypotheses)), 2), lengths)
    is_hypothesis = np.repeat(np.arange(len(sides)) < len(hypotheses), lengths)
    unigrams = _dense(sentence * (tokens.max(initial=0) + 1) + tokens)  # tokens of different sentences differ
    found = np.zeros((len(hypotheses), orders), np.int64)
    starts, grams = np.arange(len(tokens)), unigrams
    for order in range(1, orders + 1):
        if order > 1:
            is_complete = left[starts] >= order
            starts, grams = starts[is_complete], grams[is_complete]
            grams = _dense(grams * len(tokens) + unigrams[starts + order - 1])
        is_ours = is_hypothesis[starts]
        kinds = int(grams.max(initial=-1)) + 1
        common = np.minimum(np.bincount(grams[is_ours], minlength=kinds), np.bincount(grams[~is_ours], minlength=kinds))
        owner = np.zeros(kinds, np.int64)
        owner[grams] = sentence[starts]
        np.add.at(found[:, order - 1], owner, common)
    return found


def _token_numbers(sides: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Map every token of every side to a number."""
    if all(isinstance(side, str) for side in sides):
        text = "".join(side for side in sides if isinstance(side, str))
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(token, len(numbers)) for side in sides for token in side], np.int64)


def _dense(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber the keys from 0 without gaps."""
    return np.unique(keys, return_inverse=True)[1]
