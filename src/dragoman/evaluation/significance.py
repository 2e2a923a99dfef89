"""Whether two systems differ by more than chance: the paired tests of sacreBLEU, to the last digit but for one case.

Paired bootstrap, [koehn2004], draws sentences again and again and asks how often the difference strays as far from its
mean as it is large. Approximate randomization, [riezler2005], swaps the translations of sentences at random between
the systems and asks how often that makes a larger difference. Both are two-sided.

Where there is no difference at all, sacreBLEU gives the smallest p-value there is, since chance never makes less than
none: equal systems would be marked as different. Here the p-value is then 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sacrebleu.significance import _compute_p_value

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.intervals import blocks, resampled_scores, score_of_totals, seed_setting, total_score
from dragoman.evaluation.report import PairedResult
from dragoman.evaluation.sentence_statistics import METRICS, NAMES, Statistics, corpus_statistics, signed_metric

__all__ = ["DEFAULT_TRIALS", "TestName", "check_test", "paired_result", "paired_tests"]

TestName = Literal["bootstrap", "randomization"]
"""The tests that there are."""

DEFAULT_TRIALS = {"bootstrap": 1000, "randomization": 10000}
"""As many as sacreBLEU's command makes."""

_SIGNED = {"bootstrap": "bs", "randomization": "ar"}


def paired_tests(
    baseline: Sequence[str],
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    metrics: Sequence[str] = METRICS,
    language: str = "",
    test: TestName = "bootstrap",
    trials: int | None = None,
) -> list[tuple[PairedResult, ...]]:
    """Compare each system with the baseline, all of them translations of the same sentences, by every metric."""
    first = corpus_statistics(baseline, references, metrics=metrics, language=language)
    results = []
    for system in systems:
        second = corpus_statistics(system, references, metrics=metrics, language=language)
        pairs = zip(first, second, strict=True)
        results.append(tuple(paired_result(*pair, test=test, trials=trials) for pair in pairs))
    return results


def paired_result(
    baseline: Statistics, system: Statistics, *, test: TestName = "bootstrap", trials: int | None = None
) -> PairedResult:
    """Compare two systems by sentences that were counted already; a difference above 0 means a larger figure."""
    trials = check_test(test, trials)
    if len(baseline) != len(system):
        raise DataError(
            f"systems must have translated the same sentences, got {len(baseline)} and {len(system)}; "
            "translate the same file with both"
        )
    seed = seed_setting()[1]
    difference = total_score(system) - total_score(baseline)
    signature = signed_metric(baseline.metric, baseline.language).get_signature()
    signature.update("seed", str(seed).lower())
    signature.update(_SIGNED[test], trials)
    p_value = 1.0
    if difference:
        start = seed or None  # in paired tests sacreBLEU takes 0 for no seed
        changes = (_bootstrap if test == "bootstrap" else _randomization)(baseline, system, trials, start)
        p_value = float(_compute_p_value(changes, abs(difference)))
    return PairedResult(NAMES[baseline.metric], test, difference, p_value, str(signature))


def check_test(test: str, trials: int | None = None) -> int:
    """Return how many trials to make, as many as sacreBLEU if None; refuse a test or a number that cannot be."""
    if test not in DEFAULT_TRIALS:
        raise ConfigError(f"test must be one of {', '.join(DEFAULT_TRIALS)}, got {test!r}; bootstrap is usual")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1, got {trials}; {DEFAULT_TRIALS[test]} are usual")
    return DEFAULT_TRIALS[test] if trials is None else trials


def _bootstrap(first: Statistics, second: Statistics, trials: int, seed: int | None) -> NDArray[np.floating]:
    """How far the difference strays from its mean in every draw of sentences, the same for both systems."""
    start = _fresh() if seed is None else seed
    before, after = (
        np.array([score.score for score in resampled_scores(each, trials, start)]) for each in (first, second)
    )
    differences = np.abs(after - before)
    strayed: NDArray[np.floating] = differences - differences.mean()
    return strayed


def _fresh() -> int:
    """A start that nobody knows, to draw the same twice."""
    entropy = SeedSequence().entropy
    assert isinstance(entropy, int)
    return entropy


def _randomization(first: Statistics, second: Statistics, trials: int, seed: int | None) -> NDArray[np.floating]:
    """How large the difference is where sentences are swapped at random."""
    metric = signed_metric(first.metric, first.language)
    draws = np.random.default_rng(seed)
    one, other = first.counts.sum(0), second.counts.sum(0)
    apart = (first.counts - second.counts).astype(np.float64)
    found = []
    for rows in blocks(trials, len(first)):
        is_kept = draws.integers(2, size=(rows, len(first)), dtype=bool)
        mixed = other + is_kept.astype(np.float64) @ apart  # [trials, counts]
        pair = (
            np.array([score_of_totals(metric, totals).score for totals in each.tolist()])
            for each in (mixed, one + other - mixed)
        )
        found.append(np.abs(next(pair) - next(pair)))
    return np.concatenate(found)
