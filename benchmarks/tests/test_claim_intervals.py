"""The error rate of verdicts on claims, simulated with fewer trials than in the benchmark."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.claim_intervals import FAR, RESAMPLES, SPREADS, claim, error_rates, records
from claims.ledger.verdict import ClaimVerdict, decide

TRIALS, NOMINAL = 200, 0.025


@pytest.mark.parametrize(("spread", "pool"), [("seeds only", "none"), ("mostly sentences", "alike")])
def test_a_verdict_is_wrong_no_more_often_than_stated(spread: str, pool: str):
    """Three standard errors of tolerance, and twice the nominal rate, which the benchmark's worst cases exceed."""
    for rate in error_rates(1, SPREADS[spread], pool, TRIALS):
        assert rate <= 2 * NOMINAL + 3 * math.sqrt(NOMINAL / TRIALS)


@pytest.mark.parametrize(("effect", "verdict"), [(FAR, ClaimVerdict.HOLDS), (-FAR, ClaimVerdict.FAILS)])
def test_what_is_far_from_its_limit_gets_its_verdict(effect: float, verdict: ClaimVerdict):
    """The control: verdicts are given at all."""
    draws = np.random.default_rng(1)
    found = {name: records(draws, name, [value], (1.0, 0.0)) for name, value in (("new", effect), ("old", 0.0))}
    assert decide(claim(1), found, None, resamples=RESAMPLES).verdict == verdict
