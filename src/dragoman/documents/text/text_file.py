"""Decode text files as strict UTF-8, and replace parts of their text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.documents.limits import DocumentLimits
from dragoman.errors import DataError

__all__ = ["LINE", "TextEdits", "TextFile", "decode_file"]

LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
"""A line and its line end. Other separators, such as U+2028, do not end a line."""

_BOM = "\ufeff"
_OTHER_ENCODINGS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class TextFile:
    """The text of a file, and whether the file starts with a byte-order mark."""

    text: str
    has_bom: bool

    def encoded(self, text: str) -> bytes:
        """Encode another text as the content of this file."""
        return ((_BOM if self.has_bom else "") + text).encode("utf-8", "replace")


def decode_file(name: str, data: bytes, limits: DocumentLimits, *, lines: int = 100_000) -> TextFile:
    """Decode a file; raise `DataError` if it is not UTF-8, is not text, or has too many lines."""
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise DataError(f"{name} must be UTF-8, got {encoding}; convert it: iconv -f {encoding} -t UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} must be UTF-8, got byte {data[error.start]:#04x} at {error.start:,}; save it as UTF-8"
        ) from None
    if (place := text.find("\0")) >= 0:
        raise DataError(
            f"{name} must be text, got a zero byte at character {place:,}; check whether it is a binary file"
        )
    limits.check("lines", text.count("\n") + text.count("\r"), lines)
    return TextFile(text.removeprefix(_BOM), text.startswith(_BOM))


class TextEdits:
    """Replacements in a text; the rest stays unchanged."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._changes: list[tuple[int, int, str]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace ``text[start:end]``; ranges must not overlap."""
        self._changes.append((start, end, new))

    def joined(self) -> str:
        """Return the text with all replacements."""
        fragments: list[str] = []
        done = 0
        for start, end, new in sorted(self._changes):
            fragments += [self._text[done:start], new]
            done = end
        return "".join([*fragments, self._text[done:]])
