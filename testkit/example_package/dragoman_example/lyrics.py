"""A document format: lines of lyrics after times, [00:12.00]Two dogs play."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.formats import DocumentFormat
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.text_file import TextEdits, decode_file, one_line
from dragoman.errors import DataError
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText

LYRICS = DocumentFormat("application/x-lrc", "dragoman_example.lyrics:read_lyrics")

_LINE = re.compile(r"^\[\d+:\d\d(?:\.\d+)?\][ \t]*([^\r\n]*)", re.MULTILINE)


def read_lyrics(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read lyrics."""
    return _Lyrics(name, data, limits)


class _Lyrics:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._file = decode_file(name, data, limits)
        lines = list(_LINE.finditer(self._file.text))
        if not lines:
            raise DataError(f"{name} has no lines with times ([00:12.00]); check the suffix")
        texts = [(line.start(1), TaggedText(line[1], kept=find_placeholders(line[1]))) for line in lines]
        self._starts = [start for start, text in texts if text.has_words]
        self.segments = tuple(limits.add(text) for _, text in texts if text.has_words)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        """Return the file with the translations."""
        edits = TextEdits(self._file.text)
        changes = changed_segments(self.segments, translated)
        for start, segment, new in zip(self._starts, self.segments, changes, strict=True):
            if new is not None:
                edits.replace(start, start + len(segment.text), one_line(new.text))
        return self._file.encoded(edits.joined())
