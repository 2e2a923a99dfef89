"""Base class of all settings: immutable, unknown names are rejected; number ranges, command-line metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from dragoman.config.attribute_docstrings import attribute_docstrings

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
        defer_build=True,  # validators are built on first use: `--help` does not need them
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Describe fields by the docstrings below them."""
        super().__pydantic_init_subclass__(**options)
        for name, text in attribute_docstrings(cls).items():
            if name in cls.__pydantic_fields__ and cls.__pydantic_fields__[name].description is None:
                cls.__pydantic_fields__[name].description = text
