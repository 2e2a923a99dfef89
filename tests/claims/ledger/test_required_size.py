"""Estimates of the number of seeds and of sentences that would decide a comparison."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from claims.ledger.claim import Comparison, Term
from claims.ledger.effect import Effect
from claims.ledger.required_size import (
    MAX_SEEDS,
    distance_to_limit,
    seeds_needed,
    sentence_count,
    sentence_factor,
)
from claims.ledger.verdict import ClaimVerdict, ComparisonResult, decide, decide_comparison
from dragoman.evaluation.aggregate_members import t_quantile
from tests.claims.synthetic import SENTENCES, claim, records


def result(value: float, least: float, rule: str = "difference", alpha: float = 0.05) -> ComparisonResult:
    """A comparison whose effect has a standard deviation of 1 over sentences."""
    comparison = Comparison.model_validate(
        {"name": "x", "terms": [Term(variant="x")], "hypothesis": 0.0, "smallest_effect": least, "rule": rule}
    )
    part = np.array([value - 1, value + 1])
    effect = Effect(comparison, value, ((value,),), part, 0.0, 2)
    return ComparisonResult(effect, (value - 2, value + 2), alpha, ClaimVerdict.OPEN)


@pytest.mark.parametrize(
    ("value", "least", "rule", "distance"),
    [
        (1.0, 0.3, "difference", 0.7),
        (-1.0, 0.3, "difference", 1.3),
        (-0.2, 1.0, "equivalence", 0.8),
        (1.5, 1.0, "equivalence", 0.5),
    ],
)
def test_the_distance_is_to_the_nearest_limit(value: float, least: float, rule: str, distance: float):
    assert distance_to_limit(result(value, least, rule)) == pytest.approx(distance)


@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_the_variance_of_sentences_falls_with_their_number(alpha: float):
    """With z = 1.96 and a distance of a quarter of the deviation, (1.96 · 4)² times as many sentences are needed."""
    quantile = NormalDist().inv_cdf(1 - alpha / 2)
    assert sentence_factor(result(0.25, 0.0, alpha=alpha)) == pytest.approx((quantile * 4) ** 2)


def test_no_number_of_sentences_decides_an_effect_at_its_limit():
    assert sentence_factor(result(0.3, 0.3)) == math.inf


def test_sentences_that_are_enough_need_no_factor():
    assert sentence_factor(result(3.0, 0.0)) is None


def test_sentences_are_counted_in_the_records():
    (comparison,) = claim().comparisons
    assert sentence_count(comparison, {"new": records(0.7, 1), "old": records(0.6, 2)}) == SENTENCES
    assert sentence_count(comparison, {}) is None


def test_the_number_of_seeds_that_would_decide_is_not_yet_there_and_decides():
    found = {"new": records(0.615, 1, noise=0.02), "old": records(0.58, 2, noise=0.02)}
    (result,) = decide(claim(), found).comparisons
    needed = seeds_needed(result)
    assert result.verdict == ClaimVerdict.OPEN
    assert needed is not None
    assert needed > 3
    fewer = replace(result, effect=_with_seeds(result.effect, needed - 1))
    enough = replace(result, effect=_with_seeds(result.effect, needed + 1))
    assert decide_comparison(claim().comparisons[0], fewer.effect.interval(0.05)) == ClaimVerdict.OPEN
    assert decide_comparison(claim().comparisons[0], enough.effect.interval(0.05)) == ClaimVerdict.HOLDS


def _with_seeds(effect: Effect, seeds: int) -> Effect:
    """The same effect with the standard error and the degrees of freedom of more seeds."""
    shrunk = math.sqrt(3 / seeds)
    return replace(
        effect,
        seed_error=effect.seed_error * shrunk,
        freedom=effect.freedom * (seeds - 1) // 2,
    )


def test_the_search_for_the_number_of_seeds_ends_quickly():
    """An effect just outside of what sentences leave open would need far more seeds than are proposed."""
    (result,) = decide(claim(), {"new": records(0.615, 1, noise=0.02), "old": records(0.58, 2, noise=0.02)}).comparisons
    least = claim().comparisons[0].smallest_effect
    half_width = NormalDist().inv_cdf(1 - result.alpha / 2) * float(result.effect.sentence_part.std())
    began = time.process_time()
    assert seeds_needed(replace(result, effect=replace(result.effect, value=least + 1.000001 * half_width))) is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize("freedom", [2, 3, 4])
@pytest.mark.parametrize("error", [0.3, 0.5, 0.8])
def test_the_number_of_seeds_is_the_smallest_that_is_enough(freedom: int, error: float):
    """An effect of 1 with a limit of 0, sentences without variance: the half-width must be less than 1."""
    (comparison,) = claim(least=0.0).comparisons
    effect = Effect(comparison, 1.0, ((1.0, 1.0, 1.0),) * 2, np.ones(10), error, freedom)
    found = seeds_needed(ComparisonResult(effect, (-1.0, 3.0), 0.05, ClaimVerdict.OPEN))
    half_widths = {
        seeds: t_quantile(0.975, freedom * (seeds - 1) // 2) * error * math.sqrt(3 / seeds) for seeds in range(4, 100)
    }
    assert found == next(seeds for seeds, half_width in half_widths.items() if half_width < 1)


def test_more_seeds_than_the_largest_number_are_not_proposed():
    (comparison,) = claim(least=0.0).comparisons
    for error, expected in ((0.99999, MAX_SEEDS), (1.00001, None)):
        scale = math.sqrt(MAX_SEEDS / 3) / t_quantile(0.975, 2 * (MAX_SEEDS - 1) // 2)
        effect = Effect(comparison, 1.0, ((1.0, 1.0, 1.0),) * 2, np.ones(10), error * scale, 2)
        found = seeds_needed(ComparisonResult(effect, (-1.0, 3.0), 0.05, ClaimVerdict.OPEN))
        assert found == expected
