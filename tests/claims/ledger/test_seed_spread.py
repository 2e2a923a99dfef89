"""Spreads of seeds: which are similar, and what pooling them gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from claims.ledger.claim import Comparison
from claims.ledger.effect import compute_effect
from claims.ledger.peers import Peers
from claims.ledger.record import ModelRecord
from claims.ledger.seed_spread import pooled_spread, seed_error, unlike_p_value
from dragoman.evaluation.aggregate_members import welch_error

ALIKE = [(1.0, 2.0, 3.0), (4.0, 5.0, 6.5), (7.0, 7.8, 9.0)]
WIDE = (0.0, 50.0, 100.0)


def test_the_test_for_equal_spreads_has_its_textbook_value():
    """Three samples with variances of 1, 4 and 9: Bartlett's statistic is 1.698, its tail 0.428."""
    samples = [(-1.0, 0.0, 1.0), (-2.0, 0.0, 2.0), (-3.0, 0.0, 3.0)]
    pooled = math.log(14 / 3)
    statistic = (6 * pooled - 2 * math.log(36)) / (1 + (1.5 - 1 / 6) / 6)
    assert statistic == pytest.approx(1.698, abs=0.001)
    assert unlike_p_value(samples) == pytest.approx(math.exp(-statistic / 2), abs=0.01)  # two degrees of freedom


def test_alike_spreads_are_pooled_with_all_their_degrees_of_freedom():
    spread = pooled_spread(ALIKE)
    assert spread is not None
    assert spread.freedom == 6
    assert spread.variance == pytest.approx(np.mean([np.var(each, ddof=1) for each in ALIKE]))


def test_a_wide_spread_is_left_out_and_keeps_its_own():
    spread = pooled_spread([*ALIKE, WIDE])
    assert spread == pooled_spread(ALIKE)
    assert pooled_spread([WIDE, *ALIKE]) is None
    assert pooled_spread(ALIKE[:1]) is None


def test_without_a_pool_the_error_is_that_of_welch():
    error, freedom = seed_error([(sample, None) for sample in (ALIKE[0], WIDE)])
    assert (error, freedom) == pytest.approx(welch_error([ALIKE[0], WIDE]))


def test_pooled_samples_share_one_estimate():
    spread = pooled_spread(ALIKE)
    assert spread is not None
    error, freedom = seed_error([(ALIKE[0], spread), (ALIKE[1], spread)])
    assert error == pytest.approx(math.sqrt(spread.variance * 2 / 3))
    assert freedom == pytest.approx(6)


def model(name: str, seed: int, value: float, corpus: str = "x") -> ModelRecord:
    facts = {"name": name, "key": f"{name}-{seed}", "base": "rnn", "corpus": corpus, "changes": [name], "searches": {}}
    return ModelRecord(facts | {"samples": {"a": [value, value]}})


def test_an_effect_uses_the_peers_of_its_base_and_corpus_and_not_its_own_record_twice():
    draws = np.random.default_rng(1)
    groups = {name: [model(name, seed, draws.normal()) for seed in range(3)] for name in "abcdefgh"}
    other = [model("other", seed, draws.normal(), "y") for seed in range(3)]
    terms = [{"variant": "a", "search": "a"}, {"variant": "b", "weight": -1.0, "search": "a"}]
    asked = Comparison.model_validate({"name": "x", "measure": "share", "terms": terms, "hypothesis": 0.0})
    peers = Peers.of([record for group in groups.values() for record in group] + other)
    found = {name: groups[name] for name in "ab"}
    assert compute_effect(asked, found, resamples=10).freedom <= 4
    assert compute_effect(asked, found, peers, resamples=10).freedom == 16
