"""Search space and settings of hyper-parameter tuning, from a TOML file; draw the settings of trials."""

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dragoman.config import Config, load_config
from dragoman.config.base import Settings, Size, parse_toml, read_toml_text
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError

_SECTIONS = ("model", "training")
_FIXED = frozenset(
    f"training.{name}"
    for name in (
        *("checkpoint_every", "device", "keep_last", "log_every", "max_epochs", "max_updates", "patience", "sharded"),
        *("stop_on", "threads", "validate_every", "validation_sentences"),
    )
)
"""Settings that every trial shares: trials are compared at the same updates, by the same score."""

Value = bool | int | float | str
Choices = Annotated[list[Value], Field(min_length=1)]

_DRAWS = 100  # of one trial, until its settings are legal and new
_DIGITS = 4  # significant digits of a drawn number


class NumberRange(Settings):
    """Numbers between two bounds; whole numbers if both bounds are."""

    low: int | float
    """Smallest value."""
    high: int | float
    """Largest value."""
    log: bool = False
    """Draw uniformly on a logarithmic scale."""

    def _check(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"low must be below high, got {self.low} and {self.high}; swap them")
        if self.log and self.low <= 0:
            raise ConfigError(f"low must be above 0 on a logarithmic scale, got {self.low}; use a larger bound")


class TuningConfig(Settings):
    """Hyper-parameter tuning by successive halving."""

    trials: Size = 9
    """Number of trials; the first has the project's own settings."""
    factor: Annotated[int, Field(ge=2)] = 3
    """Each rung keeps one of this many trials, and trains it this many times as long."""
    min_updates: Size | None = None
    """Number of updates of the first rung; by default the last of three rungs has training.max_updates."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed of the drawn settings."""
    space: dict[str, NumberRange | Choices] = Field(min_length=1)
    """Choices or range of each setting, by its dotted name."""


def load_tuning(path: Path) -> TuningConfig:
    """Read a file of tuning settings; errors name the file."""
    name = f"the search space {path}"
    missing = f"{path} does not exist; write a file that describes the search space, as in docs/tuning.md"
    table = parse_toml(read_toml_text(path, name, missing=missing, fix="check its permissions"), name)
    space = table.get("space")
    if isinstance(space, dict):
        table["space"] = dict(_flat(space))
    found = validate(TuningConfig, table, lambda name: f"{path}: {name}", hint="docs/tuning.md has an example")
    for name in found.space:
        _check_name(name, path)
    return found


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of nested tables by dotted names; a table with bounds is a range."""
    for name, value in table.items():
        if isinstance(value, dict) and not value.keys() & {"low", "high"}:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _check_name(name: str, path: Path) -> None:
    section = name.partition(".")[0]
    if section not in _SECTIONS:
        raise ConfigError(
            f"{path}: space must have settings of {' and '.join(_SECTIONS)}, got {name}; the data is prepared once for "
            "all trials"
        )
    if name in _FIXED:
        raise ConfigError(f"{path}: {name} cannot be searched, since all trials have the same; set it in dragoman.toml")


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
    tuning: TuningConfig, config: Path, overrides: Sequence[str], number: int, known: Sequence[Mapping[str, Any]]
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
