"""Count the statistics of BLEU, chrF and TER per sentence, once, for scores, bootstrap intervals and paired tests.

sacreBLEU has no public function that returns or scores statistics: its private parts are used only here, and tests
compare the results with its command, to the last digit. It copies the statistics of every resample; here a resample is
a vector of sentence counts, and one matrix product computes all totals. Paired bootstrap, [koehn2004], resamples
sentences and counts how often the difference deviates from its mean by at least the observed difference. Approximate
randomization, [riezler2005], swaps the translations of sentences at random and counts how often the difference is at
least as large. Both are two-sided. For a difference of 0, sacreBLEU returns the smallest possible p-value, which would
mark equal systems; here it is 1.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.metrics.base import Score as SacreScore
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import _compute_p_value

from dragoman.config.evaluation import METRICS, TestName
from dragoman.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.results import SignificanceTest
from dragoman.plugins import find_plugin, load_plugin, plugin_names

_SCORE_NAMES = {"chrf": "chrf++"}  # chrF alone is chrF2, without words

_CODES = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}
"""Three-letter codes of languages for which sacreBLEU has a tokenizer."""


class PluginMetric(ABC):
    """A metric from sums of counts per sentence, so that intervals and tests need no code of the plug-in."""

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

    def _compute_score_from_stats(self, totals: Sequence[float]) -> SacreScore:
        return SacreScore(self.name, float(self.value(totals)))


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
    """Compute the statistics of every metric, the slow part of scoring; `language` selects BLEU's tokenizer."""
    check_sizes(hypotheses, references)
    legal = (*METRICS, *plugin_names("metrics"))
    unknown = [name for name in metrics if name not in legal]
    if unknown:
        raise ConfigError(f"metrics must be of {', '.join(legal)}, got {unknown[0]!r}; leave it out")
    return tuple(_compute(name, language, hypotheses, references) for name in metrics)


def _compute(name: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    if name not in METRICS:
        return Statistics(name, language, plugin_metric(name, language).count(hypotheses, references))
    counts = signed_metric(name, language)._extract_corpus_statistics(hypotheses, [references])  # noqa: SLF001
    return Statistics(name, language, np.array(counts, np.int64))


def signed_metric(name: str, language: str) -> Metric:
    """Return the metric with sacreBLEU's defaults for this language, ready to sign for one reference per sentence."""
    metric: Metric
    if name == "bleu":
        metric = _bleu(language)
    elif name == "chrf":
        metric = CHRF(word_order=2)
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


DEFAULT_RESAMPLES = 1000

_CELLS = 1 << 22  # draws in memory at a time
_EXACT = 1 << 24  # single precision, in which sacreBLEU adds, is exact up to here


def seed_setting() -> tuple[str, int | None]:
    """Return the seed as sacreBLEU writes it and as a number; None means a random seed."""
    setting = os.environ.get("SACREBLEU_SEED", "12345").lower()
    try:
        seed = None if setting == "none" else int(setting)
    except ValueError:
        seed = -1
    if seed is not None and seed < 0:
        raise ConfigError(
            f"SACREBLEU_SEED must be a whole number, 0 or more, or none, got {setting!r}; unset it for sacreBLEU's "
            "default, 12345"
        )
    return setting, seed


def score_of_totals(metric: Metric | PluginMetric, totals: Any) -> SacreScore:
    """Return sacreBLEU's score of summed statistics, in the precision of the list or array."""
    score: SacreScore = metric._compute_score_from_stats(totals)  # noqa: SLF001 -- see metrics.sentence_statistics
    return score


def total_score(statistics: Statistics) -> float:
    """Return the score of all sentences together."""
    metric = statistics.signed_metric()
    return float(score_of_totals(metric, statistics.counts.sum(0).tolist()).score)


def resampled_scores(statistics: Statistics, resamples: int, seed: int | None) -> list[SacreScore]:
    """Return the scores of `resamples` draws of all sentences with replacement."""
    metric = statistics.signed_metric()
    draws = np.random.default_rng(seed)
    scores: list[SacreScore] = []
    for rows in blocks(resamples, len(statistics)):
        drawn = draws.choice(len(statistics), size=(rows, len(statistics)), replace=True)
        scores += [score_of_totals(metric, totals) for totals in _totals(statistics.counts, drawn)]
    if len({type(each.score) for each in scores}) > 1:  # an empty score is a Python 0; sacreBLEU rejects mixtures
        for each in scores:
            each.score = float(each.score)
    return scores


def blocks(rows: int, columns: int) -> Iterator[int]:
    """Split the rows of a table of draws into blocks; multiples of 32 rows, so that no random bits are discarded."""
    most = max(1, _CELLS // (32 * columns)) * 32
    for first in range(0, rows, most):
        yield min(most, rows - first)


def _totals(counts: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.float32]:
    """Sum the statistics of the drawn sentences. Shapes: [sentences, counts], [resamples, sentences]."""
    resamples, sentences = drawn.shape
    places = drawn + sentences * np.arange(resamples)[:, None]
    times = np.bincount(places.ravel(), minlength=resamples * sentences).reshape(resamples, sentences)
    totals = times.astype(np.float64) @ counts.astype(np.float64)  # [resamples, counts]
    if totals.max(initial=0) <= _EXACT:
        return totals.astype(np.float32)
    single = counts.astype(np.float32)  # beyond that the order of addition matters
    return np.stack([single[row].sum(0) for row in drawn])


DEFAULT_TRIALS = {"bootstrap": 1000, "randomization": 10000}
"""Defaults of sacreBLEU's command."""

_SIGNATURE_KEYS = {"bootstrap": "bs", "randomization": "ar"}


def paired_tests(
    baseline: Sequence[str],
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    metrics: Sequence[str] = METRICS,
    language: str = "",
    test: TestName = "bootstrap",
    trials: int | None = None,
) -> list[tuple[SignificanceTest, ...]]:
    """Test each system against the baseline by every metric; all are translations of the same sentences."""
    first = corpus_statistics(baseline, references, metrics=metrics, language=language)
    results = []
    for system in systems:
        second = corpus_statistics(system, references, metrics=metrics, language=language)
        pairs = zip(first, second, strict=True)
        results.append(tuple(paired_test(*pair, test=test, trials=trials) for pair in pairs))
    return results


def paired_test(
    baseline: Statistics, system: Statistics, *, test: TestName = "bootstrap", trials: int | None = None
) -> SignificanceTest:
    """Test two systems by their sentence statistics; a positive difference means a larger score."""
    trials = check_test(test, trials)
    if len(baseline) != len(system):
        raise DataError(
            f"systems must have translated the same sentences, got {len(baseline)} and {len(system)}; "
            "translate the same file with both"
        )
    seed = seed_setting()[1]
    difference = total_score(system) - total_score(baseline)
    signature = baseline.signed_metric().get_signature()
    signature.update("seed", str(seed).lower())
    signature.update(_SIGNATURE_KEYS[test], trials)
    p_value = 1.0
    if difference:
        start = seed or None  # in paired tests sacreBLEU treats 0 as no seed
        changes = (_bootstrap if test == "bootstrap" else _randomization)(baseline, system, trials, start)
        p_value = float(_compute_p_value(changes, abs(difference)))
    return SignificanceTest(baseline.score_name, test, difference, p_value, str(signature))


def check_test(test: str, trials: int | None = None) -> int:
    """Return the number of trials, by default sacreBLEU's; raise `ConfigError` for an unknown test or number."""
    if test not in DEFAULT_TRIALS:
        raise ConfigError(f"test must be one of {', '.join(DEFAULT_TRIALS)}, got {test!r}; bootstrap is usual")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1, got {trials}; {DEFAULT_TRIALS[test]} are usual")
    return DEFAULT_TRIALS[test] if trials is None else trials


def _bootstrap(first: Statistics, second: Statistics, trials: int, seed: int | None) -> NDArray[np.floating]:
    """Return the deviation of the difference from its mean in every resample, the same for both systems."""
    start = _random_seed() if seed is None else seed
    before, after = (
        np.array([score.score for score in resampled_scores(each, trials, start)]) for each in (first, second)
    )
    differences = np.abs(after - before)
    deviations: NDArray[np.floating] = differences - differences.mean()
    return deviations


def _random_seed() -> int:
    """Return a random seed, to draw the same resamples for both systems."""
    entropy = SeedSequence().entropy
    assert isinstance(entropy, int)
    return entropy


def _randomization(first: Statistics, second: Statistics, trials: int, seed: int | None) -> NDArray[np.floating]:
    """Return the absolute difference for every random swap of sentences."""
    metric = first.signed_metric()
    draws = np.random.default_rng(seed)
    one, other = first.counts.sum(0), second.counts.sum(0)
    delta = (first.counts - second.counts).astype(np.float64)
    found = []
    for rows in blocks(trials, len(first)):
        is_kept = draws.integers(2, size=(rows, len(first)), dtype=bool)
        mixed = other + is_kept.astype(np.float64) @ delta  # [trials, counts]
        pair = (
            np.array([score_of_totals(metric, totals).score for totals in each.tolist()])
            for each in (mixed, one + other - mixed)
        )
        found.append(np.abs(next(pair) - next(pair)))
    return np.concatenate(found)
