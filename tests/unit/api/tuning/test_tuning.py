"""Rungs and the choice of trials."""

from __future__ import annotations

import pytest

from dragoman.api.tuning.tuning import Rung, best_trials, plan_rungs
from dragoman.errors import ConfigError


@pytest.mark.parametrize(
    ("trials", "first", "every", "rungs"),
    [
        (9, None, 10, [(9, 100), (3, 300), (1, 900)]),
        (9, None, 200, [(9, 200), (3, 600), (1, 900)]),
        (9, 300, 10, [(9, 300), (3, 900)]),
        (10, 100, 100, [(10, 100), (3, 300), (1, 900)]),
        (2, 100, 100, [(2, 100), (1, 900)]),
        (1, None, 100, [(1, 900)]),
        (4, 900, 100, [(4, 900)]),
    ],
)
def test_rungs(trials: int, first: int | None, every: int, rungs: list[tuple[int, int]]) -> None:
    found = plan_rungs(trials, factor=3, first=first, last=900, every=every)
    assert found == [Rung(*each) for each in rungs]


def test_rungs_need_validations() -> None:
    with pytest.raises(ConfigError, match=r"training\.validate_every must be at most training\.max_updates = 900"):
        plan_rungs(9, factor=3, first=None, last=900, every=1000)
    with pytest.raises(ConfigError, match=r"min_updates must be at most training\.max_updates = 900, got 901"):
        plan_rungs(9, factor=3, first=901, last=900, every=10)


def test_the_best_of_equal_scores_is_the_first_trial_and_failed_ones_are_never_chosen() -> None:
    scores = {3: 2.0, 1: 2.0, 0: None, 2: 1.5}
    assert best_trials(scores, 2, lower_is_better=True) == [2, 1]
    assert best_trials(scores, 9, lower_is_better=False) == [1, 3, 2]
