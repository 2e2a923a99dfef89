"""The guard: what it objects to, and what it remembers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training.guard import Guard

SETTLED = Guard(mean=2.0, seen=100)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_always_refused(loss: float):
    assert "the loss is" in Guard().objection(loss, 1.0, 0.0)


@pytest.mark.parametrize("norm", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_refused_too(norm: float):
    assert "norm of the gradient" in Guard().objection(1.0, norm, 0.0)


def test_a_spike_is_one_only_once_the_mean_says_something():
    assert "more than 3 above the recent mean of 2.00" in SETTLED.objection(5.01, 1.0, 3.0)
    assert SETTLED.objection(5.0, 1.0, 3.0) == ""
    assert SETTLED.objection(1e6, 1.0, 0.0) == "", "0 leaves spikes alone"
    assert Guard(mean=2.0, seen=99).objection(1e6, 1.0, 3.0) == ""


def test_three_in_a_row_doubt_the_weights():
    guard = SETTLED
    for skipped in (True, True, False, True, True):
        guard = guard.after(2.0, skipped=skipped)
        assert not guard.wants_back
    assert guard.after(math.nan, skipped=True).wants_back


def test_what_was_skipped_leaves_the_mean_alone():
    after = SETTLED.after(math.nan, skipped=True)
    assert (after.mean, after.seen) == (SETTLED.mean, SETTLED.seen)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=40))
def test_the_first_losses_are_averaged_evenly(losses: list[float]):
    guard = Guard()
    for loss in losses:
        guard = guard.after(loss, skipped=False)
    assert guard.mean == pytest.approx(sum(losses) / len(losses))
    assert Guard.from_json(guard.to_json()) == guard
