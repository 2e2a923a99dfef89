"""Drawn settings: seeded, legal, different."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.api.tuning.search_space import TuningConfig, draw_trials
from dragoman.errors import ConfigError
from testkit.tiny_project import tiny_project

SPACE: dict[str, Any] = {
    "training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "training.warmup_updates": {"low": 1, "high": 1000, "log": True},
    "training.label_smoothing": {"low": 0.0, "high": 0.2},
    "training.seed": [1, 2],
}


def tuning(space: dict[str, Any] = SPACE, **settings: Any) -> TuningConfig:
    return TuningConfig.model_validate({"space": space, **settings})


def test_the_first_trial_is_the_project_and_more_trials_begin_with_the_same() -> None:
    few, many = (draw_trials(tuning(trials=count), tiny_project().config) for count in (4, 8))
    assert [each.values for each in many[:4]] == [each.values for each in few]
    assert few[0].values["training.learning_rate"] == few[0].config.training.learning_rate
    other = draw_trials(tuning(trials=4, seed=2), tiny_project().config)
    assert [each.values for each in other[1:]] != [each.values for each in few[1:]]


def test_values_are_in_their_range_and_in_the_configuration() -> None:
    trials = draw_trials(tuning(trials=30), tiny_project().config)[1:]
    for trial in trials:
        training = trial.config.training
        assert 1e-4 <= training.learning_rate == trial.values["training.learning_rate"] <= 1e-2
        assert 1 <= training.warmup_updates <= 1000
        assert 0 <= training.label_smoothing <= 0.2
    rates = sorted(trial.config.training.learning_rate for trial in trials)
    assert 3e-4 < rates[len(rates) // 2] < 3e-3, "the median of a logarithmic range is its geometric mean"
    assert {trial.config.training.seed for trial in trials} == {1, 2}


def test_a_small_space_has_fewer_trials() -> None:
    trials = draw_trials(tuning({"training.seed": [1, 2, 3]}, trials=9), tiny_project().config)
    assert sorted(each.values["training.seed"] for each in trials) == [1, 2, 3]


def test_illegal_settings_are_drawn_again_or_reported() -> None:
    some = tuning({"training.average_last": [2, 99], "training.seed": list(range(9))}, trials=6)
    assert {each.values["training.average_last"] for each in draw_trials(some, tiny_project().config)[1:]} == {2}
    with pytest.raises(ConfigError, match=r"training\.average_last must be at most"):
        draw_trials(tuning({"training.average_last": [99]}), tiny_project().config)
    with pytest.raises(ConfigError, match=r"space must have known settings, got model\.hads"):
        draw_trials(tuning({"model.hads": [1]}), tiny_project().config)
