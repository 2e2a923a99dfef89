"""Search space and settings of hyper-parameter tuning, from a TOML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dragoman.config.base import Settings, Size
from dragoman.config.parse_toml import parse_toml, read_toml_text
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError

__all__ = ["Choices", "NumberRange", "TuningConfig", "load_tuning"]

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


class NumberRange(Settings):
    """Numbers between two bounds; whole numbers if both bounds are."""

    low: int | float
    """Smallest value."""
    high: int | float
    """Largest value."""
    log: bool = False
    """Draw uniformly on a logarithmic scale."""

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if not self.low < self.high:
            raise ConfigError(f"low must be below high, got {self.low} and {self.high}; swap them")
        if self.log and self.low <= 0:
            raise ConfigError(f"low must be above 0 on a logarithmic scale, got {self.low}; use a larger bound")
        return self


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
    try:
        table = parse_toml(read_toml_text(path), f"the search space {path}")
    except FileNotFoundError:
        raise ConfigError(
            f"{path} must describe the search space, got no such file; write one as in docs/tuning.md"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the search space {path} must be a readable UTF-8 file, got: {error}; check its permissions"
        ) from None
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
        raise ConfigError(
            f"{path}: space must not have {name}, got it; all trials have the same, set it in dragoman.toml"
        )
