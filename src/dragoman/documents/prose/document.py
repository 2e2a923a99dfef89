"""Prose with inline notation, line by line: a paragraph keeps its number of lines, and what is no prose its bytes.

A format finds the paragraphs and their inline notation. Unknown notation stays. Each translation is read again
before it is written: its notation must be that of the source, otherwise the paragraph stays.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dragoman.documents.document import changed_segments
from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.text_file import TextEdits, balanced_breaks, decode_file, one_line
from dragoman.markup.tagged_text import TaggedText
from dragoman.reporting.number_format import format_count


class Tag(NamedTuple):
    """What is written before and after the text of a tag; without a closing the tag is empty."""

    opening: str
    closing: str = ""


class Part(NamedTuple):
    """A part of a paragraph: text, notation that is kept, or a tag around other parts."""

    text: str
    is_kept: bool = False
    tag: Tag | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Paragraph:
    """The spans of the lines of a paragraph, without white space at their ends."""

    lines: Sequence[tuple[int, int]]
    adornments: tuple[tuple[int, int], ...] = ()
    """The spans of lines of punctuation above and below a title, which must be as long as the title."""
    before: tuple[int, str] | None = None
    """What is inserted if the text changes, and where: the name of a title to which others refer."""
    ends_with: str = ""
    """What must follow the text: it is part of the last line's notation, such as the colon before a literal block."""


class Notation(Protocol):
    """A format of prose."""

    def paragraphs(self, text: str, limits: DocumentLimits) -> Iterator[Paragraph]: ...

    def parts(self, raw: str) -> tuple[Part, ...] | None:
        """Return the parts of a paragraph; None if its notation is not understood."""
        ...

    def escaped(self, text: str, place: int, *, starts_line: bool) -> str:
        """Return a character of a text in the notation of the format."""
        ...

    def joined(self, before: str, after: str) -> str:
        """Return what separates notation and what follows it, if they would be read as one."""
        ...


@dataclass(frozen=True)
class _Segment:
    paragraph: Paragraph
    inline: InlineText
    verbatim: frozenset[str]
    signature: Counter[str] = field(compare=False)


class ProseDocument:
    """A file in a format of prose."""

    def __init__(self, name: str, data: bytes, limits: DocumentLimits, notation: Notation) -> None:
        self.name = name
        self._notation = notation
        self._file = decode_file(name, data, limits)
        self._segments: list[_Segment] = []
        self.notes: list[str] = []
        text, unread = self._file.text, 0
        for paragraph in notation.paragraphs(text, limits):
            raw = " ".join(text[start:end] for start, end in paragraph.lines)
            limits.check_paragraph(len(raw))
            parts = notation.parts(raw)
            unread += parts is None
            if parts and (segment := self._segment(paragraph, parts, limits)).inline.tagged.has_words:
                limits.add(segment.inline.tagged)
                self._segments.append(segment)
        self.segments = tuple(each.inline.tagged for each in self._segments)
        if unread:
            self.notes.append(f"{format_count(unread, 'paragraph')} with notation that is not understood left")

    @staticmethod
    def _segment(paragraph: Paragraph, parts: Iterable[Part], limits: DocumentLimits) -> _Segment:
        builder = InlineBuilder(limits)
        verbatim: set[str] = set()

        def add(each: Part) -> None:
            if each.tag is None:
                builder.add_text(each.text, is_kept=each.is_kept)
                verbatim.update([each.text] if each.is_kept else [])
            elif not each.parts:
                builder.add_empty(each.tag)
            else:
                builder.open(each.tag)
                for inner in each.parts:
                    add(inner)
                builder.close()

        for part in parts:
            add(part)
        return _Segment(paragraph, builder.build(), frozenset(verbatim), _signature(parts))

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        for segment, tagged in zip(self._segments, changed_segments(self.segments, translated), strict=True):
            if tagged is not None:
                self._write(edits, segment, tagged)
        return self._file.encoded(edits.joined())

    def _write(self, edits: TextEdits, segment: _Segment, tagged: TaggedText) -> None:
        lines = segment.paragraph.lines
        text = one_line(tagged.text)
        at_edges = {place for span in tagged.spans for place in (span.start - 1, span.start, span.end)}
        breaks = {*balanced_breaks(text, len(lines), tagged.kept, at_edges)}
        notation = [each for each in tagged.kept if text[slice(*each)] in segment.verbatim]
        own = {place for start, end in notation for place in range(start, end)}
        starts = {0, *(place + 1 for place in breaks)}
        marks = {
            place: "\n" if place in breaks else self._notation.escaped(text, place, starts_line=place in starts)
            for place in range(len(text))
            if place not in own
        }
        for start, end in notation:
            for place in (start, end):
                if 0 < place < len(text):
                    separator = self._notation.joined(text[max(0, place - 80) : place], text[place : place + 80])
                    marks[place] = separator + marks.get(place, text[place])
        written = self._rendered(segment.inline.tree(tagged.with_marks(marks)))
        colon = segment.paragraph.ends_with
        written += colon if not written.endswith(colon) else ""
        again = self._notation.parts(" ".join(written.split("\n")))
        if again is None or _signature(again) != segment.signature:
            return
        new = written.split("\n")
        for number, line in enumerate(new):
            last = lines[-1 if number == len(new) - 1 else number]
            edits.replace(lines[number][0], last[1], line)
        if segment.paragraph.before is not None:
            at, inserted = segment.paragraph.before
            edits.replace(at, at, inserted)
        width = max(map(_width, new))
        for start, end_ in segment.paragraph.adornments:
            edits.replace(end_, end_, self._file.text[start] * max(0, width - (end_ - start)))

    def _rendered(self, nodes: Sequence[Node]) -> str:
        fragments = [""]
        for node in nodes:
            if isinstance(node, str):
                inner = node
            else:
                content = self._rendered(node.children)
                bare = content.strip()
                lead = content[: len(content) - len(content.lstrip())]
                inner = f"{lead}{node.tag.opening}{bare}{node.tag.closing}{content[len(lead) + len(bare) :]}"
            if inner:
                fragments += [self._notation.joined(fragments[-1], inner), inner]
        return "".join(fragments)


def _signature(parts: Iterable[Part]) -> Counter[str]:
    """Count the notation of a paragraph."""
    found: Counter[str] = Counter()
    for each in parts:
        found[each.text if each.is_kept else "".join(each.tag or ())] += each.is_kept or each.tag is not None
        found += _signature(each.parts)
    return +found


def _width(text: str) -> int:
    """Return the columns of a line: a character of East Asia takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
