"""Plain-text documents: each line is one segment; line ends, indentation and empty lines are kept."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.text_file import LINE, TextEdits, decode_file
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.characters import has_letters

__all__ = ["read_txt"]

# Lines take less time than the paragraphs of other formats.
_MAX_LINES = 200_000
_MAX_SEGMENTS = 100_000


def read_txt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a plain-text file."""
    limits.segments = _MAX_SEGMENTS
    return _PlainText(name, data, limits)


class _PlainText:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._file = decode_file(name, data, limits, lines=_MAX_LINES)
        self._starts: list[int] = []
        segments: list[TaggedText] = []
        for line in LINE.finditer(self._file.text):
            if not has_letters(line[1]):
                continue
            limits.check_paragraph(len(line[1]))
            bare = line[1].strip()
            segment = TaggedText(bare, kept=find_placeholders(bare))
            if segment.has_words:
                segments.append(limits.add(segment))
                self._starts.append(line.start(1) + line[1].find(bare))
        self.segments = tuple(segments)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        changes = changed_segments(self.segments, translated)
        for start, segment, tagged in zip(self._starts, self.segments, changes, strict=True):
            if tagged is not None:
                edits.replace(start, start + len(segment.text), tagged.text)
        return self._file.encoded(edits.joined())
