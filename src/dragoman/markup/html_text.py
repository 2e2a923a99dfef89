"""Extract the translatable text of an HTML page and write translations back; markup stays byte-identical."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.markup.html_segments import HtmlItem, find_segments
from dragoman.markup.html_tokenizer import tokenize_html, unescape
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TagEdge, TaggedText, TagSpan, walk_tags
from dragoman.text.characters import has_letters

_ASCII_SPACES = " \t\n\r\f"
_SPACES = re.compile(f"[{_ASCII_SPACES}]+")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f]")


@dataclass(frozen=True)
class _Place:
    """Position of a segment in the page, the white space around its text, and the start and end tags of its spans."""

    start: int
    end: int
    lead: str
    trail: str
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HtmlText:
    """An HTML page or fragment, split into `segments` of text with inline tags.

    ``parse(page).write(parse(page).segments) == page``. Any input is accepted. The output has the same elements and
    attributes as the input and no others.
    """

    segments: tuple[TaggedText, ...]
    _page: str = field(repr=False)
    _places: tuple[_Place, ...] = field(repr=False)
    _is_xml: bool = False

    @classmethod
    def parse(
        cls,
        page: str,
        *,
        ignored: Collection[str] = (),
        is_xml: bool = False,
        check: Callable[[TaggedText], object] | None = None,
        check_length: Callable[[int], None] | None = None,
    ) -> HtmlText:
        """Find the translatable text of a page, which excludes the elements with `ignored` names in lower case.

        XML is read by the rules of HTML, and written without the entities that only HTML has. `check` receives each
        segment, and `check_length` its length in the page before it is read; they may raise an error.
        """
        segments: list[TaggedText] = []
        places: list[_Place] = []
        for run in find_segments(page, tokenize_html(page, is_xml=is_xml), ignored):
            if check_length is not None:
                check_length(run[-1].end - run[0].start)
            tagged, place = _segment(page, run, is_xml=is_xml)
            if has_letters(tagged.text):
                if check is not None:
                    check(tagged)
                segments.append(tagged)
                places.append(place)
        return cls(tuple(segments), page, tuple(places), is_xml)

    def write(self, translated: Sequence[TaggedText]) -> str:
        """Return the page with translated segments; an unchanged or empty translation keeps the source text."""
        fragments: list[str] = []
        at = 0
        for place, segment, other in zip(self._places, self.segments, translated, strict=True):
            fragments.append(self._page[at : place.start])
            if other == segment or not other.text.strip():
                fragments.append(self._page[place.start : place.end])
            else:
                fragments += [place.lead, *_render(other, place.tags, is_xml=self._is_xml), place.trail]
            at = place.end
        return "".join([*fragments, self._page[at:]])


def _segment(page: str, run: Sequence[HtmlItem], *, is_xml: bool) -> tuple[TaggedText, _Place]:
    """Convert the items of a segment to tagged text and the data needed to write it back."""
    text = _TextBuilder()
    spans: list[tuple[int, int, int]] = []  # start, end, depth
    tags: list[tuple[str, str]] = []
    open_: list[int] = []
    start, end = _stripped_bounds(page, run)
    for item in run:
        if item.kind == "text":
            text.add(unescape(page[max(item.start, start) : min(item.end, end)]))
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
    whole = text.build()
    lead = len(whole) - len(whole.lstrip())
    bare = whole.strip()

    def inside(place: int) -> int:
        return min(max(place - lead, 0), len(bare))

    found = (TagSpan(inside(first), inside(last), tag, depth) for tag, (first, last, depth) in enumerate(spans))
    tagged = TaggedText(bare, tuple(found), find_placeholders(bare))
    trail = whole[lead + len(bare) :]
    return tagged, _Place(start, end, _escaped(whole[:lead], is_xml), _escaped(trail, is_xml), tuple(tags))


def _stripped_bounds(page: str, run: Sequence[HtmlItem]) -> tuple[int, int]:
    """Return the start and end of a segment without surrounding white space."""
    start, end = run[0].start, run[-1].end
    while run[0].kind == "text" and start < end and page[start] in _ASCII_SPACES:
        start += 1
    while run[-1].kind == "text" and end > start and page[end - 1] in _ASCII_SPACES:
        end -= 1
    return start, end


class _TextBuilder:
    """A text under construction, with white space collapsed to single spaces."""

    def __init__(self) -> None:
        self._fragments: list[str] = []
        self._is_spaced = False  # the text ends with a space, so a leading space is dropped
        self._breaks = False
        self.length = 0

    def add(self, text: str) -> None:
        plain = _SPACES.sub(" ", text)
        if self._is_spaced and plain.startswith(" "):
            plain = plain[1:]
        if self._breaks and plain and self.length and not plain[0].isspace() and not self._fragments[-1][-1].isspace():
            plain = " " + plain
        if plain:
            self._fragments.append(plain)
            self.length += len(plain)
            self._is_spaced, self._breaks = plain.endswith(" "), False

    def pass_void(self, *, breaks: bool) -> None:
        """Pass a void item; a line break becomes a space unless there is one next to it."""
        self._is_spaced = False
        self._breaks = self._breaks or breaks

    def build(self) -> str:
        return "".join(self._fragments)


def _render(tagged: TaggedText, tags: Sequence[tuple[str, str]], *, is_xml: bool) -> Iterator[str]:
    """Yield the escaped text and each tag once: duplicates are dropped, missing tags are appended."""
    open_: list[int] = []
    seen: set[int] = set()
    for fragment in walk_tags(tagged):
        if not isinstance(fragment, TagEdge):
            yield _escaped(fragment, is_xml)
            continue
        tag = fragment.span.tag
        if fragment.is_end:
            if open_ and open_[-1] == id(fragment.span):
                open_.pop()
                yield tags[tag][1]
        elif 0 <= tag < len(tags) and tag not in seen:
            seen.add(tag)
            open_.append(id(fragment.span))
            yield tags[tag][0]
    yield from ("".join(both) for tag, both in enumerate(tags) if tag not in seen)


def _escaped(text: str, is_xml: bool) -> str:
    plain = _CONTROL.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain if is_xml else plain.replace("\N{NO-BREAK SPACE}", "&nbsp;")
