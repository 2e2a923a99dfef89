"""What every format has in common: texts that come out, and translations that go back in their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dragoman.markup.marked import Marked

__all__ = ["Document", "paired"]


class Document(Protocol):
    """A file that was read: its texts, and the same file with translations in their places."""

    @property
    def segments(self) -> tuple[Marked, ...]:
        """What is to be translated, in the order of the file; each text is a paragraph, a heading, a cell, a line."""
        ...

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        """The file with a translation for each segment; `language` is its code, for formats that name it.

        Where a translation is the segment itself, that part of the file stays as it is.
        """
        ...


def paired(segments: Sequence[Marked], translated: Sequence[Marked]) -> list[Marked | None]:
    """The translations in order, None in place of one that changes nothing."""
    if len(segments) != len(translated):
        raise ValueError(f"there must be {len(segments)} translations, one for each segment, got {len(translated)}")
    return [None if new == old else new for old, new in zip(segments, translated, strict=True)]
