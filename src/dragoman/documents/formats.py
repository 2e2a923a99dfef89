"""The formats of documents, by the suffix of a file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from dragoman.documents.document import Document
from dragoman.documents.gettext_messages import read_po
from dragoman.documents.html_page import read_html
from dragoman.documents.markdown import read_md
from dragoman.documents.office_open import read_docx, read_pptx
from dragoman.documents.open_document import read_odt
from dragoman.documents.plain_text import read_txt
from dragoman.documents.subtitles import read_srt
from dragoman.documents.tmx import read_tmx
from dragoman.documents.xliff import read_xliff
from dragoman.errors import DataError

__all__ = ["FORMATS", "MOST_BYTES", "read_document"]

MOST_BYTES = 64 << 20
"""No document may have more bytes, whatever a caller allows."""

_MOST_TEXT_BYTES = 8 << 20  # of a file that is read as a whole: text, not pictures
_OFFICE = "application/vnd.openxmlformats-officedocument."

_READERS: dict[str, tuple[str, Callable[[str, bytes], Document]]] = {
    ".docx": (f"{_OFFICE}wordprocessingml.document", read_docx),
    ".htm": ("text/html", read_html),
    ".html": ("text/html", read_html),
    ".md": ("text/markdown", read_md),
    ".odt": ("application/vnd.oasis.opendocument.text", read_odt),
    ".po": ("text/x-gettext-translation", read_po),
    ".pptx": (f"{_OFFICE}presentationml.presentation", read_pptx),
    ".srt": ("application/x-subrip", read_srt),
    ".tmx": ("application/x-tmx+xml", read_tmx),
    ".txt": ("text/plain", read_txt),
    ".xlf": ("application/xliff+xml", read_xliff),
    ".xliff": ("application/xliff+xml", read_xliff),
}
FORMATS = {suffix: media_type for suffix, (media_type, _) in _READERS.items()}
"""The suffixes of files that can be read, and what a server calls them."""

_MOST = {".docx": MOST_BYTES, ".odt": MOST_BYTES, ".pptx": MOST_BYTES, ".md": 1 << 20}  # Markdown is slow to parse


def read_document(name: str, data: bytes, *, characters: int | None = None) -> Document:
    """Read a document of the format that its name ends in; a `DataError` says why where that cannot be.

    The content must be what the name says. Nothing in it is run, fetched, or unpacked to the disk, and what would grow
    without bound is refused. With `characters`, text beyond so many is refused too.
    """
    suffix = PurePath(name).suffix.lower()
    shown = _shown(name)
    if suffix not in _READERS:
        raise DataError(f"a document must be one of {', '.join(FORMATS)}, got {shown}; convert it to one of these")
    if not data.strip():
        raise DataError(f"{shown} must hold something, got an empty file; check that it was sent whole")
    most = _MOST.get(suffix, _MOST_TEXT_BYTES)
    if len(data) > most:
        raise DataError(f"{shown} must have at most {most:,} bytes, got {len(data):,}; cut it into parts")
    _, read = _READERS[suffix]
    document = read(shown, data)
    size = sum(len(segment.text) for segment in document.segments)
    if characters is not None and size > characters:
        raise DataError(f"{shown} must have at most {characters:,} characters of text, got {size:,}; cut it into parts")
    return document


def _shown(name: str) -> str:
    """A name in one line of plain characters, whatever it was."""
    plain = "".join(character if character.isprintable() else "?" for character in PurePath(name).name)
    return plain if len(plain) <= 80 else f"{plain[:60]}…{plain[-19:]}"
