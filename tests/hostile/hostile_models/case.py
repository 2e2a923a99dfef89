"""A hostile model: its format, the file that is hostile, the kind of attack, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.hostile.hostile_models.sources import Files


@dataclass(frozen=True)
class Case:
    """`make` returns the files of the model, given those of a valid one. `refuse`: no such file can be legal."""

    format: str
    file: str
    kind: str
    title: str
    make: Callable[[Files], Mapping[str, Any]]
    refuse: bool = False

    @property
    def name(self) -> str:
        """A name for reports."""
        return f"{self.format}: {self.file}: {self.kind}: {self.title}"


Content = bytes | Callable[[], bytes]
"""A file, or a function that makes it: large files are made when they are needed."""


def replaced(name: str, content: Content) -> Callable[[Files], Mapping[str, Any]]:
    """Replace one file of a model."""
    return lambda files: files | {name: content() if callable(content) else content}
