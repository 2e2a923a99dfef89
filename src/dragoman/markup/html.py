"""HTML whose text is translated: everything else comes out as it went in."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.markup.html_runs import Item, runs
from dragoman.markup.html_tokens import tokens
from dragoman.markup.marked import Marked, Span
from dragoman.markup.nesting import Edge, walk
from dragoman.markup.placeholders import kept_in
from dragoman.text.characters import has_letters

__all__ = ["HtmlText"]

_ASCII_SPACES = " \t\n\r\f"
_SPACES = re.compile(f"[{_ASCII_SPACES}]+")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f]")


@dataclass(frozen=True)
class _Place:
    """A segment in the page: its bytes, the white space around its text, and the tags of its spans, both ends."""

    start: int
    end: int
    lead: str
    trail: str
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HtmlText:
    """A page or a piece of one, cut into `segments` of text with inline tags.

    ``parse(page).write(parse(page).segments) == page``. No input is an error, and whatever is written has the elements
    and attributes of what was read, and no others.
    """

    segments: tuple[Marked, ...]
    _page: str = field(repr=False)
    _places: tuple[_Place, ...] = field(repr=False)

    @classmethod
    def parse(cls, page: str) -> HtmlText:
        """Find the text of a page."""
        segments: list[Marked] = []
        places: list[_Place] = []
        for run in runs(page, tokens(page)):
            marked, place = _segment(page, run)
            if has_letters(marked.text):
                segments.append(marked)
                places.append(place)
        return cls(tuple(segments), page, tuple(places))

    def write(self, translated: Sequence[Marked]) -> str:
        """Return the page with other text in its segments; what is the same as before, or has no text, stays."""
        pieces: list[str] = []
        at = 0
        for place, segment, other in zip(self._places, self.segments, translated, strict=True):
            pieces.append(self._page[at : place.start])
            if other == segment or not other.text.strip():
                pieces.append(self._page[place.start : place.end])
            else:
                pieces += [place.lead, *_written(other, place.tags), place.trail]
            at = place.end
        return "".join([*pieces, self._page[at:]])


def _segment(page: str, run: Sequence[Item]) -> tuple[Marked, _Place]:
    """The text of a run, its spans, and how to write them again."""
    text = _Text()
    spans: list[tuple[int, int, int]] = []  # start, end, depth
    tags: list[tuple[str, str]] = []
    open_: list[int] = []
    start, end = _bare(page, run)
    for item in run:
        if item.kind == "text":
            text.add(html.unescape(page[max(item.start, start) : min(item.end, end)]))
        elif item.kind == "end":
            number = open_.pop()
            spans[number] = (spans[number][0], text.length, len(open_))
            tags[number] = (tags[number][0], page[item.start : item.end])
        else:
            spans.append((text.length, text.length, len(open_)))
            tags.append((page[item.start : item.end], ""))
            if item.kind == "start":
                open_.append(len(spans) - 1)
            else:
                text.pass_void(breaks=item.breaks)
    whole = text.whole()
    lead = len(whole) - len(whole.lstrip())
    bare = whole.strip()

    def inside(place: int) -> int:
        return min(max(place - lead, 0), len(bare))

    found = (Span(inside(first), inside(last), tag, depth) for tag, (first, last, depth) in enumerate(spans))
    marked = Marked(bare, tuple(found), kept_in(bare))
    trail = whole[lead + len(bare) :]
    return marked, _Place(start, end, _escaped(whole[:lead]), _escaped(trail), tuple(tags))


def _bare(page: str, run: Sequence[Item]) -> tuple[int, int]:
    """Where a run begins and ends without the white space around it."""
    start, end = run[0].start, run[-1].end
    while run[0].kind == "text" and start < end and page[start] in _ASCII_SPACES:
        start += 1
    while run[-1].kind == "text" and end > start and page[end - 1] in _ASCII_SPACES:
        end -= 1
    return start, end


class _Text:
    """A text under way, in which white space is one space."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_spaced = False  # and what follows needs no space of its own
        self._breaks = False
        self.length = 0

    def add(self, text: str) -> None:
        plain = _SPACES.sub(" ", text)
        if self._is_spaced and plain.startswith(" "):
            plain = plain[1:]
        if self._breaks and plain and self.length and not plain[0].isspace() and not self._pieces[-1][-1].isspace():
            plain = " " + plain
        if plain:
            self._pieces.append(plain)
            self.length += len(plain)
            self._is_spaced, self._breaks = plain.endswith(" "), False

    def pass_void(self, *, breaks: bool) -> None:
        """Something without text stands here; a line break stands for a space, should there be none around it."""
        self._is_spaced = False
        self._breaks = self._breaks or breaks

    def whole(self) -> str:
        return "".join(self._pieces)


def _written(marked: Marked, tags: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The text escaped, and each tag once: what is there twice loses the second, what is missing comes at the end."""
    open_: list[int] = []
    seen: set[int] = set()
    for piece in walk(marked):
        if not isinstance(piece, Edge):
            yield _escaped(piece)
            continue
        tag = piece.span.tag
        if piece.is_end:
            if open_ and open_[-1] == id(piece.span):
                open_.pop()
                yield tags[tag][1]
        elif 0 <= tag < len(tags) and tag not in seen:
            seen.add(tag)
            open_.append(id(piece.span))
            yield tags[tag][0]
    yield from ("".join(both) for tag, both in enumerate(tags) if tag not in seen)


def _escaped(text: str) -> str:
    plain = _CONTROL.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("\N{NO-BREAK SPACE}", "&nbsp;")
