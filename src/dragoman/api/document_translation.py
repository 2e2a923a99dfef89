"""A document translated with its layout: text out, translations in, a part at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.api.marked_translation import translate_marked
from dragoman.api.translator import Translator
from dragoman.documents.formats import MOST_BYTES, read_document
from dragoman.errors import DataError
from dragoman.markup.marked import Marked

__all__ = ["read_bytes", "translate_document"]

_TEXTS = 64  # at a time: enough for full batches, and somebody watches
_UNKNOWN = "und"


def read_bytes(path: Path) -> bytes:
    """The bytes of a document; one that is too large is refused before it is read."""
    if (size := path.stat().st_size) > MOST_BYTES:
        raise DataError(f"{path} must have at most {MOST_BYTES:,} bytes, got {size:,}; cut it into parts")
    return path.read_bytes()


def translate_document(
    translator: Translator, name: str, data: bytes, tell: Callable[[int, int], None] = lambda done, total: None
) -> bytes:
    """The document in the target language; `name` says its format by its suffix.

    `tell` is told how many of its texts are done, and how many there are.
    """
    document = read_document(name, data)
    segments = document.segments
    translated: list[Marked] = []
    for start in range(0, len(segments), _TEXTS):
        tell(start, len(segments))
        translated += translate_marked(translator, segments[start : start + _TEXTS])
    tell(len(segments), len(segments))
    return document.write(translated, language=translator.languages[1] or _UNKNOWN)
