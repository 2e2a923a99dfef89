"""Choose the document format by file suffix; each reader is imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from dragoman.documents.limits import DocumentLimits, DocumentTooLargeError
from dragoman.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.documents.document import Document

__all__ = ["ARCHIVES", "FORMATS", "MAX_BYTES", "STRUCTURED", "UNSUPPORTED", "read_document"]

MAX_BYTES = 64 << 20
"""Maximum size of a document in bytes; callers may allow less."""

_MAX_TEXT_BYTES = 8 << 20  # of formats that consist of text only
_OFFICE = "application/vnd.openxmlformats-officedocument."

FORMATS = {
    ".docx": f"{_OFFICE}wordprocessingml.document",
    ".htm": "text/html",
    ".html": "text/html",
    ".md": "text/markdown",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".po": "text/x-gettext-translation",
    ".pptx": f"{_OFFICE}presentationml.presentation",
    ".srt": "application/x-subrip",
    ".tmx": "application/x-tmx+xml",
    ".txt": "text/plain",
    ".xlf": "application/xliff+xml",
    ".xliff": "application/xliff+xml",
}
"""Media type of each supported suffix."""

ARCHIVES = frozenset({".docx", ".odt", ".pptx"})
"""Suffixes of formats that are zip archives."""

STRUCTURED = frozenset(
    {".arb", ".ini", ".json", ".jsonl", ".properties", ".resx", ".strings", ".stringsdict", ".toml", ".xml", ".yaml"}
    | {".yml"}
)
"""Suffixes of text files with keys and syntax that a translation by lines would damage."""

UNSUPPORTED = STRUCTURED | {".doc", ".epub", ".odp", ".ods", ".pdf", ".ppt", ".rtf", ".xls", ".xlsx"}
"""Suffixes of documents that cannot be read."""

_READERS = {
    ".docx": ("office.ooxml", "read_docx"),
    ".htm": ("html_document", "read_html"),
    ".html": ("html_document", "read_html"),
    ".md": ("markdown.document", "read_md"),
    ".odt": ("office.odt", "read_odt"),
    ".po": ("text.po", "read_po"),
    ".pptx": ("office.ooxml", "read_pptx"),
    ".srt": ("text.srt", "read_srt"),
    ".tmx": ("xml.tmx", "read_tmx"),
    ".txt": ("text.txt", "read_txt"),
    ".xlf": ("xml.xliff", "read_xliff"),
    ".xliff": ("xml.xliff", "read_xliff"),
}
"""Module in this package and function that reads each format."""

_LIMITS = {**dict.fromkeys(ARCHIVES, MAX_BYTES), ".md": 1 << 20}  # parsing Markdown is slow


def read_document(name: str, data: bytes, *, characters: int | None = None) -> Document:
    """Read a document in the format of its suffix.

    Raise `DataError` if the content does not have that format, and a subclass of it, `DocumentTooLargeError`, as soon
    as a limit is exceeded: bytes, `characters` of text, paragraphs, lines or tags. Nothing in a document is executed,
    downloaded or unpacked to disk.
    """
    suffix = PurePath(name).suffix.lower()
    shown = _shown(name)
    if suffix not in FORMATS:
        raise DataError(f"a document must be one of {', '.join(FORMATS)}, got {shown}; convert it to one of these")
    if not data.strip():
        raise DataError(f"{shown} must not be empty, got an empty file; check the file")
    limit = _LIMITS.get(suffix, _MAX_TEXT_BYTES)
    if len(data) > limit:
        raise DocumentTooLargeError(f"{shown} must have at most {limit:,} bytes, got {len(data):,}; split it")
    return _reader(suffix)(shown, data, DocumentLimits(shown, characters))


def _reader(suffix: str) -> Callable[[str, bytes, DocumentLimits], Document]:
    module, function = _READERS[suffix]
    found = getattr(import_module(f"dragoman.documents.{module}"), function)
    return cast("Callable[[str, bytes, DocumentLimits], Document]", found)


def _shown(name: str) -> str:
    """Return a file name for messages: printable and at most 80 characters."""
    plain = "".join(character if character.isprintable() else "?" for character in PurePath(name).name)
    return plain if len(plain) <= 80 else f"{plain[:60]}…{plain[-19:]}"
