"""Base class of all settings: immutable, unknown names are rejected; number ranges, command-line metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Cli", "NotNegative", "Positive", "Rate", "Settings", "Share", "Size"]

Size = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]


@dataclass(frozen=True)
class Cli:
    """Metadata of a field: how its command-line option is shown. The help text is the field's docstring."""

    panel: str = ""
    """Heading in the help page; that of the model it is nested in by default."""
    default: str = ""
    """Text shown for the default value where the value itself is unclear."""
    metavar: str = ""
    """Placeholder for the value; the type by default."""


class Settings(BaseModel):
    """Settings that reject unknown names and cannot be changed."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,  # validators are built on first use: `--help` does not need them
    )
