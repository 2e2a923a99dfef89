"""Plain-text documents: each line is one segment; line ends, indentation and empty lines are kept."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineBuilder, InlineText
from dragoman.documents.text.text_file import LINE, TextEdits, decode_file
from dragoman.markup.tagged_text import TaggedText

__all__ = ["read_txt"]


def read_txt(name: str, data: bytes) -> Document:
    """Read a plain-text file."""
    return _PlainText(name, data)


class _PlainText:
    def __init__(self, name: str, data: bytes) -> None:
        self._file = decode_file(name, data)
        self._lines: list[tuple[int, int, InlineText]] = []
        for line in LINE.finditer(self._file.text):
            builder = InlineBuilder()
            builder.add_text(line[1])
            inline = builder.build()
            if inline.tagged.has_words:
                self._lines.append((*line.span(1), inline))
        self.segments = tuple(inline.tagged for _, _, inline in self._lines)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        for (start, end, inline), tagged in zip(self._lines, changed_segments(self.segments, translated), strict=True):
            if tagged is not None:
                edits.replace(start, end, inline.before + tagged.text + inline.after)
        return self._file.encoded(edits.joined())
