"""Verdicts: four outcomes, what needs a correction and what does not, and controls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claims.ledger.effect import compute_effect
from claims.ledger.verdict import decide, decide_comparison, decide_comparisons
from tests.claims.synthetic import claim, records

HOLDS, FAILS, OPEN = "holds here", "does not hold here", "cannot be told at this size"
NOT_TESTED = "not tested"


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


def test_what_all_must_show_needs_no_correction_and_what_one_shows_has_holms():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    three = claim().comparisons * 3
    for holds_if, level in (("all", 0.05), ("any", 0.05 / 3)):
        result = decide(claim().model_copy(update={"comparisons": three, "holds_if": holds_if}), found)
        assert result.verdict == HOLDS
        assert result.comparisons[0].alpha == pytest.approx(level)
    losing = claim(swapped=True).comparisons * 3
    for holds_if, level in (("all", 0.05 / 3), ("any", 0.05)):
        result = decide(claim().model_copy(update={"comparisons": losing, "holds_if": holds_if}), found)
        assert result.verdict == FAILS
        assert result.comparisons[0].alpha == pytest.approx(level)


def test_an_effect_that_is_clear_alone_is_open_where_holms_correction_does_not_pass():
    """An interval just above the limit, among ten comparisons of which one is enough."""
    comparison = claim().comparisons[0]
    effect = compute_effect(comparison, {"new": records(0.63, 1), "old": records(0.6, 2)})
    low, _ = effect.interval(0.05)
    near = effect.comparison.model_copy(update={"smallest_effect": low - 0.01})
    effect = replace(effect, comparison=near)
    asked = claim().model_copy(update={"holds_if": "any", "comparisons": [near]})
    assert [each.verdict for each in decide_comparisons([effect], asked)] == [HOLDS]
    assert [each.verdict for each in decide_comparisons([effect], asked, unmeasured=9)] == [OPEN]
    together = asked.model_copy(update={"holds_if": "all"})
    assert [each.verdict for each in decide_comparisons([effect], together, unmeasured=9)] == [HOLDS]


def test_all_comparisons_must_hold_unless_one_is_enough():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    both = claim().comparisons + claim(swapped=True).comparisons
    for holds_if, verdict in (("all", FAILS), ("any", HOLDS)):
        assert decide(claim().model_copy(update={"comparisons": both, "holds_if": holds_if}), found).verdict == verdict


def test_a_claim_whose_control_fails_is_not_tested():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    for swapped, is_precondition, verdict in ((True, True, NOT_TESTED), (True, False, FAILS), (False, True, HOLDS)):
        (first,) = claim(swapped=swapped).comparisons
        both = [first.model_copy(update={"is_precondition": is_precondition}), *claim().comparisons]
        assert decide(claim().model_copy(update={"comparisons": both}), found).verdict == verdict
    failing = [claim().comparisons[0].model_copy(update={"is_precondition": True}), *claim(swapped=True).comparisons]
    assert decide(claim().model_copy(update={"comparisons": failing}), found).verdict == FAILS


def test_a_control_that_is_not_measured_yet_leaves_the_claim_open():
    found = {"new": records(0.7, 1), "old": records(0.5, 2), "other": []}
    (first,) = claim().comparisons
    term = first.terms[0].model_copy(update={"variant": "other"})
    control = first.model_copy(update={"is_precondition": True, "terms": [term]})
    both = claim().model_copy(update={"comparisons": [control, first]})
    assert decide(both, found).verdict == OPEN
    assert decide(both, found | {"other": records(0.3, 3, seeds=2)}).verdict == OPEN  # a seed is missing


def test_an_experiment_that_does_not_fit_leaves_the_claim_not_tested():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    unfit = claim().model_copy(update={"unfit": {"en": "too small", "zh": "太小"}})
    assert decide(unfit, found).verdict == NOT_TESTED


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
        assert [each.alpha for each in result.comparisons] == [0.025 if swapped else 0.05]


def test_a_comparison_stays_open_until_all_its_seeds_are_there():
    found = {"new": records(0.7, 1, seeds=2), "old": records(0.5, 2)}
    result = decide(claim(), found)
    assert (result.verdict, result.comparisons[0].verdict) == (OPEN, OPEN)
    assert decide(claim().model_copy(update={"seeds": 2}), found).verdict == HOLDS
