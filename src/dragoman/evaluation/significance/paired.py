"""Paired significance tests, with p-values equal to those of sacreBLEU except for a difference of 0.

Paired bootstrap, [koehn2004], resamples sentences and counts how often the difference deviates from its mean by at
least the observed difference. Approximate randomization, [riezler2005], swaps the translations of sentences between
the systems at random and counts how often the difference is at least as large. Both are two-sided.

For a difference of 0, sacreBLEU returns the smallest possible p-value, which would mark equal systems as different.
Here the p-value is 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sacrebleu.significance import _compute_p_value

from dragoman.config.evaluation import METRICS, TestName
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.sentence_statistics import Statistics, corpus_statistics
from dragoman.evaluation.results import SignificanceTest
from dragoman.evaluation.significance.bootstrap import (
    blocks,
    resampled_scores,
    score_of_totals,
    seed_setting,
    total_score,
)

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
