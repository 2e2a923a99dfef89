"""Translate a document and keep its layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.api.translation.markup import translate_markup
from dragoman.api.translation.translator import Translator
from dragoman.documents.formats import MAX_BYTES, read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

__all__ = ["read_bytes", "translate_document"]

_TEXTS = 64  # per call: enough for full batches, few enough to report progress
_UNKNOWN = "und"


def read_bytes(path: Path) -> bytes:
    """Read a document; raise `DataError` before reading if it is too large."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise DataError(f"{path} must have at most {MAX_BYTES:,} bytes, got {size:,}; split it")
    return path.read_bytes()


def translate_document(
    translator: Translator, name: str, data: bytes, tell: Callable[[int, int], None] = lambda done, total: None
) -> bytes:
    """Translate a document; the suffix of `name` determines its format.

    `tell` receives the number of texts done and their total.
    """
    document = read_document(name, data)
    segments = document.segments
    translated: list[TaggedText] = []
    for start in range(0, len(segments), _TEXTS):
        tell(start, len(segments))
        translated += translate_markup(translator, segments[start : start + _TEXTS])
    tell(len(segments), len(segments))
    return document.write(translated, language=translator.languages[1] or _UNKNOWN)
