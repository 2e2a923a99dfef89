"""Document protocol: return the segments of a file, and write the file with their translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dragoman.markup.tagged_text import TaggedText

__all__ = ["Document", "changed_segments"]


class Document(Protocol):
    """A parsed file that can be written with translations."""

    @property
    def segments(self) -> tuple[TaggedText, ...]:
        """Texts to translate, in file order; each is a paragraph, a heading, a table cell or a line."""
        ...

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        """Return the file with one translation per segment; `language` is the code of the target language.

        If a translation equals its segment, that part of the file stays unchanged.
        """
        ...


def changed_segments(segments: Sequence[TaggedText], translated: Sequence[TaggedText]) -> list[TaggedText | None]:
    """Return the translations, with None for each that equals its segment."""
    if len(segments) != len(translated):
        raise ValueError(f"translated must have {len(segments)} items, one per segment, got {len(translated)}")
    return [None if new == old else new for old, new in zip(segments, translated, strict=True)]
