"""Translate a document and keep its layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.api.translation.markup import translate_markup
from dragoman.api.translation.translator import Translator
from dragoman.documents.declared_languages import check_declared_target, declaration_notes
from dragoman.documents.document import Document
from dragoman.documents.formats import MAX_BYTES, read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.other_language import MIN_NOTE_SAMPLE, NOTE_SAMPLE, language_note

__all__ = ["document_notes", "read_bytes", "translate_document", "translate_parsed"]

_TEXTS = 64  # per call: enough for full batches, few enough to report progress
_UNKNOWN = "und"


def read_bytes(path: Path) -> bytes:
    """Read a document; raise `DataError` before reading if it is too large."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise DataError(f"{path} must have at most {MAX_BYTES:,} bytes, got {size:,}; split it")
    return path.read_bytes()


def document_notes(document: Document, languages: tuple[str, str]) -> list[str]:
    """Return notes on languages of a document, declared or detected in its first texts, that are not the model's."""
    sample = [segment.text for segment in document.segments[:NOTE_SAMPLE]]
    if len(sample) < MIN_NOTE_SAMPLE:  # a heading alone is rarely certain
        sample = [" ".join(sample)]
    found = language_note(sample, languages[0], name="texts")
    return [*declaration_notes(document, *languages), *([found] if found else [])]


def translate_document(
    translator: Translator, name: str, data: bytes, tell: Callable[[int, int], None] = lambda done, total: None
) -> bytes:
    """Translate a document; the suffix of `name` determines its format.

    `tell` receives the number of texts done and their total. Raise `DataError` if the document cannot be read, or
    declares another target language and has translations, which would stay.
    """
    return translate_parsed(translator, read_document(name, data), tell)


def translate_parsed(translator: Translator, document: Document, tell: Callable[[int, int], None]) -> bytes:
    """Translate a document that is read already, as `translate_document` does."""
    language = translator.languages[1]
    check_declared_target(document, language)
    segments = document.segments
    translated: list[TaggedText] = []
    for start in range(0, len(segments), _TEXTS):
        tell(start, len(segments))
        translated += translate_markup(translator, segments[start : start + _TEXTS])
    tell(len(segments), len(segments))
    return document.write(translated, language=language or _UNKNOWN)
