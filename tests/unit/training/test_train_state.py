"""Detection of bad updates."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training.train_state import DivergenceMonitor

SETTLED = DivergenceMonitor(mean=2.0, good_updates=100)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_always_refused(loss: float):
    assert "the loss is" in DivergenceMonitor().skip_reason(loss, 1.0, 0.0)


@pytest.mark.parametrize("norm", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_refused_too(norm: float):
    assert "norm of the gradient" in DivergenceMonitor().skip_reason(1.0, norm, 0.0)


def test_a_spike_counts_only_after_100_good_updates():
    assert "more than 3 above the recent mean of 2.00" in SETTLED.skip_reason(5.01, 1.0, 3.0)
    assert SETTLED.skip_reason(5.0, 1.0, 3.0) == ""
    assert SETTLED.skip_reason(1e6, 1.0, 0.0) == "", "0 leaves spikes alone"
    assert DivergenceMonitor(mean=2.0, good_updates=99).skip_reason(1e6, 1.0, 3.0) == ""


def test_three_bad_updates_in_a_row_cause_a_rollback():
    monitor = SETTLED
    for skipped in (True, True, False, True, True):
        monitor = monitor.after(2.0, skipped=skipped)
        assert not monitor.should_roll_back
    assert monitor.after(math.nan, skipped=True).should_roll_back


def test_what_was_skipped_leaves_the_mean_alone():
    after = SETTLED.after(math.nan, skipped=True)
    assert (after.mean, after.good_updates) == (SETTLED.mean, SETTLED.good_updates)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=40))
def test_the_first_losses_are_averaged_evenly(losses: list[float]):
    monitor = DivergenceMonitor()
    for loss in losses:
        monitor = monitor.after(loss, skipped=False)
    assert monitor.mean == pytest.approx(sum(losses) / len(losses))
    assert DivergenceMonitor.from_json(monitor.to_json()) == monitor
