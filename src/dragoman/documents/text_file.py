"""The text of a file that is nothing but text: strictly UTF-8, or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.errors import DataError

__all__ = ["LINE", "Splices", "TextFile", "decoded"]

LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
"""A line and its end. Only these end lines: U+2028 and the like may stand within one."""

_MARK = "\ufeff"
_FOREIGN = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class TextFile:
    """A text, and whether a byte-order mark stood before it."""

    text: str
    has_mark: bool

    def encoded(self, text: str) -> bytes:
        """Another text as bytes of a file like this one."""
        return ((_MARK if self.has_mark else "") + text).encode("utf-8", "replace")


def decoded(name: str, data: bytes) -> TextFile:
    """The text of a file; one that is not UTF-8, or not text, is refused."""
    for mark, encoding in _FOREIGN.items():
        if data.startswith(mark):
            raise DataError(f"{name} must be UTF-8, got {encoding}; convert it: iconv -f {encoding} -t UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} must be UTF-8, got byte {data[error.start]:#04x} at {error.start:,}; save it as UTF-8"
        ) from None
    if (place := text.find("\0")) >= 0:
        raise DataError(f"{name} must be text, got a zero byte at character {place:,}; is it a binary file?")
    return TextFile(text.removeprefix(_MARK), text.startswith(_MARK))


class Splices:
    """Pieces of a text that are replaced; the rest stays as it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._changes: list[tuple[int, int, str]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Put something in the place of ``text[start:end]``; no two places touch but where one is empty."""
        self._changes.append((start, end, new))

    def joined(self) -> str:
        """The text with all that was replaced."""
        pieces: list[str] = []
        done = 0
        for start, end, new in sorted(self._changes):
            pieces += [self._text[done:start], new]
            done = end
        return "".join([*pieces, self._text[done:]])
