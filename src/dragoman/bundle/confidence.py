"""Confidence: the probability that a translation is usable, stored in a bundle for each of its directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator

from dragoman.config.base import Positive, Settings, Size
from dragoman.errors import BundleError

FEATURES = ("log_prob", "length", "ratio", "flags")
"""Mean log-probability per token; log of tokens; log of the ratio of characters; number of flags of failures."""

_MAX_DEVIATION = 4.0  # standard deviations: the estimate does not extrapolate

_MIN_SCALE = 1e-6

_Number = Annotated[float, Field(ge=-1e6, le=1e6)]
_Numbers = Annotated[tuple[_Number, ...], Field(min_length=len(FEATURES), max_length=len(FEATURES))]


class Calibration(Settings):
    """p(chrF++ ≥ usable) = σ(bias + Σ weight · (feature − mean) / scale), by logistic regression."""

    means: _Numbers
    scales: _Numbers
    weights: _Numbers
    bias: _Number
    usable: Annotated[Positive, Field(le=100.0)]
    sentences: Size
    """Number of sentences it was fitted to."""

    @field_validator("scales")
    @classmethod
    def _check_scales(cls, scales: tuple[float, ...]) -> tuple[float, ...]:
        if min(scales) < _MIN_SCALE:
            raise ValueError(f"must be at least {_MIN_SCALE:g}")
        return scales

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability that a translation with these features is usable."""
        total = self.bias
        for value, mean, scale, weight in zip(features, self.means, self.scales, self.weights, strict=True):
            total += weight * min(max((value - mean) / scale, -_MAX_DEVIATION), _MAX_DEVIATION)
        return 1 / (1 + math.exp(min(-total, 700.0)))


class Calibrations(Settings):
    """The file of a bundle: calibrations by direction, such as ``en-pt``."""

    format: Literal["dragoman-confidence-1"] = "dragoman-confidence-1"
    directions: dict[Annotated[str, Field(max_length=100)], Calibration]

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Self:
        """Parse and check the file; `name` is for the error."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(ascii(part)[:40] for part in first["loc"])
            raise BundleError(
                f"{name} must be a file of dragoman calibrate, got {place or 'its content'}: {first['msg'][:100]}; "
                "copy the bundle again"
            ) from None

    def to_bytes(self) -> bytes:
        return (self.model_dump_json(indent=1) + "\n").encode()
