"""Settings of synthetic corpora: noise, tag, and filters of pairs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dragoman.config.base import Cli, Rate, Settings
from dragoman.config.validation_errors import SettingError

BLANK = "<BLANK>"
"""Word that replaces others."""

_PAIRS, _NOISE = "Pairs", "Noise"

Count = Annotated[int, Field(ge=0)]


class PairFilters(Settings):
    """Filters of synthetic pairs; None disables a filter."""

    min_score: Annotated[Annotated[float, Field(le=0.0)] | None, Cli(_PAIRS)] = None
    """Drop translations whose log p per token is below this."""


class TagSettings(Settings):
    """Tag of synthetic sources."""

    tag: Annotated[str, Field(pattern=r"^\S*$"), Cli(_PAIRS, metavar="TEXT")] = ""
    """Write this word before each synthetic source, such as <BT>."""


class NoiseSettings(Settings):
    """Noise in synthetic sources: drop words, replace them by a blank, move them. Paper: [edunov2018] (section 3)."""

    noise: Annotated[bool, Cli(_NOISE)] = False
    """Drop, blank and move words of synthetic sources at random."""
    noise_drop: Annotated[Rate, Cli(_NOISE)] = 0.1
    """Probability of dropping a word."""
    noise_blank: Annotated[Rate, Cli(_NOISE)] = 0.1
    """Probability of replacing a word by <BLANK>."""
    noise_swap: Annotated[Count, Cli(_NOISE)] = 3
    """Maximum number of places that a word moves; 0 keeps the order."""
    noise_seed: Annotated[Count, Cli(_NOISE)] = 1
    """Random seed of the noise; draws also depend on the line number."""

    def _check(self) -> None:
        for name in type(self).model_fields:
            if not self.noise and getattr(self, name) != type(self).model_fields[name].default:
                raise SettingError(f"{{{name}}} needs {{noise}}; add that one")
