"""The error rate of the intervals of claims, simulated with fewer trials than in the benchmark."""

from __future__ import annotations

import math

import pytest

from benchmarks.claim_intervals import LEVELS, error_rates

TRIALS = 600


@pytest.mark.parametrize("spreads", [(1.0, 1.0), (1.0, 0.1)])
def test_the_error_rate_of_intervals_is_at_most_the_nominal_one(spreads: tuple[float, float]):
    """Two standard errors of tolerance; the rate at 5 % is not near zero, as it is for intervals that are too wide."""
    rates = error_rates(spreads, 0.0, TRIALS)
    for level, rate in zip(LEVELS, rates, strict=True):
        assert rate <= level + 2 * math.sqrt(level * (1 - level) / TRIALS), level
    assert rates[0] > 0.01
