"""Verdicts: three outcomes, Holm's correction, and controls."""

from __future__ import annotations

import pytest

from claims.ledger.effect import compute_effect
from claims.ledger.verdict import decide, decide_comparison, holm
from tests.claims.synthetic import claim, records

HOLDS, FAILS, OPEN = "holds here", "does not hold here", "cannot be told at this size"


@pytest.mark.parametrize(
    ("interval", "verdict"), [((0.6, 2.0), HOLDS), ((-1.0, 0.4), FAILS), ((0.4, 2.0), OPEN), ((-9.0, 9.0), OPEN)]
)
def test_a_difference_holds_only_if_the_whole_interval_is_above_the_smallest_effect(
    interval: tuple[float, float], verdict: str
):
    assert decide_comparison(claim(least=0.5).comparisons[0], interval) == verdict


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((-0.4, 0.4), HOLDS), ((0.6, 2.0), FAILS), ((-2.0, -0.6), FAILS), ((0.4, 0.6), OPEN), ((-0.6, 0.6), OPEN)],
)
def test_an_equivalence_holds_only_if_the_whole_interval_is_within_the_margin(
    interval: tuple[float, float], verdict: str
):
    assert decide_comparison(claim(least=0.5, rule="equivalence").comparisons[0], interval) == verdict


def test_swapped_variants_give_the_opposite_verdict():
    found = {"new": records(0.66, 1), "old": records(0.58, 2)}
    assert decide(claim(), found).verdict == HOLDS
    assert decide(claim(swapped=True), found).verdict == FAILS


@pytest.mark.parametrize("trial", range(20))
def test_equal_variants_never_hold(trial: int):
    found = {"new": records(0.6, 100 + 2 * trial), "old": records(0.6, 101 + 2 * trial)}
    assert decide(claim(), found, resamples=400).verdict in (FAILS, OPEN)


def test_the_same_models_in_both_variants_do_not_hold():
    same = records(0.6, 5)
    assert decide(claim(), {"new": same, "old": same}).verdict in (FAILS, OPEN)


def test_holm_decides_the_clearest_effect_at_the_strictest_level_and_stops_at_the_first_open_one():
    comparison = claim().comparisons[0]
    clear = compute_effect(comparison, {"new": records(0.7, 1), "old": records(0.5, 2)})
    unclear = compute_effect(comparison, {"new": records(0.605, 3), "old": records(0.6, 4)})
    results = holm([unclear, clear], 0.05)
    assert [result.verdict for result in results] == [OPEN, HOLDS]
    assert [result.alpha for result in results] == [0.05, 0.025]


def test_all_comparisons_must_hold_unless_one_is_enough():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    both = claim().comparisons + claim(swapped=True).comparisons
    for holds_if, verdict in (("all", FAILS), ("any", HOLDS)):
        assert decide(claim().model_copy(update={"comparisons": both, "holds_if": holds_if}), found).verdict == verdict


def test_a_claim_whose_precondition_does_not_hold_is_open():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    for swapped, is_precondition, verdict in ((True, True, OPEN), (True, False, FAILS), (False, True, HOLDS)):
        (first,) = claim(swapped=swapped).comparisons
        both = [first.model_copy(update={"is_precondition": is_precondition}), *claim().comparisons]
        assert decide(claim().model_copy(update={"comparisons": both}), found).verdict == verdict
    failing = [claim().comparisons[0].model_copy(update={"is_precondition": True}), *claim(swapped=True).comparisons]
    assert decide(claim().model_copy(update={"comparisons": failing}), found).verdict == FAILS


def test_a_partly_measured_claim_stays_open_unless_a_measured_comparison_decides_it():
    found = {"new": records(0.7, 1), "old": records(0.5, 2), "other": []}
    open_one = (
        claim()
        .comparisons[0]
        .model_copy(
            update={"name": "other", "terms": [claim().comparisons[0].terms[0].model_copy(update={"variant": "other"})]}
        )
    )
    for swapped, verdict in ((False, OPEN), (True, FAILS)):
        both = [*claim(swapped=swapped).comparisons, open_one]
        result = decide(claim().model_copy(update={"comparisons": both}), found)
        assert result.verdict == verdict
        assert result.unmeasured == (open_one,)
        assert [each.alpha for each in result.comparisons] == [0.025]


def test_a_comparison_stays_open_until_all_its_seeds_are_there():
    found = {"new": records(0.7, 1, seeds=2), "old": records(0.5, 2)}
    result = decide(claim(), found)
    assert (result.verdict, result.comparisons[0].verdict) == (OPEN, OPEN)
    assert decide(claim().model_copy(update={"seeds": 2}), found).verdict == HOLDS


def test_a_comparison_without_all_its_seeds_is_last_in_the_order_of_holm():
    comparison = claim().comparisons[0]
    clear = compute_effect(comparison, {"new": records(0.8, 1, seeds=2), "old": records(0.4, 2, seeds=2)})
    other = compute_effect(comparison, {"new": records(0.7, 3), "old": records(0.5, 4)})
    results = holm([clear, other], 0.05, seeds=3)
    assert [(result.verdict, result.alpha) for result in results] == [(OPEN, 0.05), (HOLDS, 0.025)]
