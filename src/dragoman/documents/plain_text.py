"""txt: each line is translated by itself; line ends, indents and empty lines stay."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.document import Document, paired
from dragoman.documents.inline import Inline, InlineBuilder
from dragoman.documents.text_file import LINE, Splices, decoded
from dragoman.markup.marked import Marked

__all__ = ["read_txt"]


def read_txt(name: str, data: bytes) -> Document:
    """A file of text."""
    return _PlainText(name, data)


class _PlainText:
    def __init__(self, name: str, data: bytes) -> None:
        self._file = decoded(name, data)
        self._lines: list[tuple[int, int, Inline]] = []
        for line in LINE.finditer(self._file.text):
            builder = InlineBuilder()
            builder.add_text(line[1])
            inline = builder.build()
            if inline.marked.has_words:
                self._lines.append((*line.span(1), inline))
        self.segments = tuple(inline.marked for _, _, inline in self._lines)

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        splices = Splices(self._file.text)
        for (start, end, inline), marked in zip(self._lines, paired(self.segments, translated), strict=True):
            if marked is not None:
                splices.replace(start, end, inline.before + marked.text + inline.after)
        return self._file.encoded(splices.joined())
