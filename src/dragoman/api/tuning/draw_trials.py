"""Draw the settings of trials from a search space."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.api.tuning.search_space import NumberRange, TuningConfig
from dragoman.config import Config, load_config
from dragoman.errors import ConfigError

__all__ = ["Trial", "draw_trials", "setting_overrides", "value_at"]

_DRAWS = 100  # of one trial, until its settings are legal and new
_DIGITS = 4  # significant digits of a drawn number


@dataclass(frozen=True)
class Trial:
    """A trial: its number, the values of the searched settings, and the complete configuration."""

    number: int
    values: Mapping[str, Any]
    config: Config

    @property
    def name(self) -> str:
        """Name of its run folder."""
        return f"trial-{self.number:03}"


def draw_trials(tuning: TuningConfig, config: Path, overrides: Sequence[str] = ()) -> list[Trial]:
    """Return the trials of a search; the first has the project's own settings.

    A trial depends on the seed and its number alone, so a search with more trials begins with the same ones. Settings
    that are illegal together, or were drawn before, are drawn again; there may be fewer trials than wanted.
    """
    own = load_config(config, overrides)
    trials = [Trial(0, {name: value_at(own, name) for name in tuning.space}, own)]
    for number in range(1, tuning.trials):
        found = _draw(tuning, config, overrides, number, [each.values for each in trials])
        if found is None:
            break
        trials.append(found)
    return trials


def setting_overrides(values: Mapping[str, Any]) -> list[str]:
    """Return values as overrides of a configuration, ``a.b=c``."""
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]


def value_at(config: Config, name: str) -> Any:
    """Return the value of a setting by its dotted name; raise `ConfigError` if there is none."""
    value: Any = config
    for part in name.split("."):
        if part not in getattr(type(value), "model_fields", {}):
            raise ConfigError(f"space must have known settings, got {name}; docs/reference.md lists them")
        value = getattr(value, part)
    return value


def _draw(
    tuning: TuningConfig,
    config: Path,
    overrides: Sequence[str],
    number: int,
    known: Sequence[Mapping[str, Any]],
) -> Trial | None:
    draw = random.Random(f"{tuning.seed}:{number}")
    error: ConfigError | None = None
    for _ in range(_DRAWS):
        values = {name: _value(draw, choice) for name, choice in tuning.space.items()}
        try:
            made = load_config(config, [*overrides, *setting_overrides(values)])
        except ConfigError as illegal:
            error = illegal
            continue
        if values not in known:
            return Trial(number, values, made)
        error = None
    if error is not None:
        raise error
    return None


def _value(draw: random.Random, choice: NumberRange | list[Any]) -> Any:
    if isinstance(choice, list):
        return draw.choice(choice)
    low, high = (math.log(choice.low), math.log(choice.high)) if choice.log else (choice.low, choice.high)
    if isinstance(choice.low, int) and isinstance(choice.high, int):
        return round(math.exp(draw.uniform(low, high))) if choice.log else draw.randint(choice.low, choice.high)
    number = draw.uniform(low, high)
    number = float(f"{math.exp(number) if choice.log else number:.{_DIGITS}g}")
    return min(max(number, float(choice.low)), float(choice.high))
