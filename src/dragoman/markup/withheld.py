"""A text without what must be kept, for a translator that would damage it; and how to put it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dragoman.markup.marked import Marked, Span
from dragoman.markup.nesting import parents, walk
from dragoman.markup.punctuation import CLOSING, PAIRS, STOPS, joins

__all__ = ["Withheld", "withhold"]

_INNERMOST = 1 << 30  # deeper than any tag: nothing that only touches a kept part is in it


@dataclass(frozen=True)
class Withheld:
    """The text that is left, with a tag that holds nothing in the place of each kept part.

    `kept` are those parts by their tags, each with where in it the part begins and ends: brackets right around one go
    with it, and a colon behind one that a sentence begins with. `spaced` says by their tags whether spaces stood before
    them and behind, `joined` whether letters did.
    """

    marked: Marked
    kept: dict[int, tuple[str, int, int]]
    spaced: dict[int, tuple[bool, bool]]
    joined: dict[int, tuple[bool, bool]]

    def given_back(self, translated: Marked) -> Marked:
        """Return a translation of what was left, with the kept parts in the places of their tags."""
        text = _Text()
        spans: list[Span] = []
        kept: list[tuple[int, int]] = []
        open_: list[int] = []
        for piece in walk(translated):
            if isinstance(piece, str):
                text.add(piece)
            elif piece.span.tag in self.kept:
                if not piece.is_end:
                    part, start, end = self.kept[piece.span.tag]
                    before = text.length
                    place = text.add_apart(part, self.joined[piece.span.tag])
                    for number in open_ if place > before else ():
                        if spans[number].start == before:  # a space that was added stands before the tags
                            spans[number] = replace(spans[number], start=place)
                    kept.append((place + start, place + end))
            elif piece.is_end:
                begun = spans[open_[-1]]
                spans[open_.pop()] = replace(begun, end=text.length)
            else:
                spans.append(Span(text.length, text.length, piece.span.tag, len(open_)))
                open_.append(len(spans) - 1)
        return Marked(text.whole(), tuple(spans), tuple(kept))


class _Text:
    """A text under way."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._may_join = True
        self.length = 0

    def add(self, piece: str) -> None:
        if not self._may_join and joins(piece[0]):
            self._append(" ")
        self._append(piece)
        self._may_join = True

    def add_apart(self, part: str, joined: tuple[bool, bool]) -> int:
        """Add something that no letter may touch, unless one did before it or behind it; return where it begins."""
        if self._pieces and joins(self._pieces[-1][-1]) and not joined[0]:
            self._append(" ")
        self._append(part)
        self._may_join = joined[1]
        return self.length - len(part)

    def whole(self) -> str:
        return "".join(self._pieces)

    def _append(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)


def withhold(marked: Marked) -> Withheld:
    """Take the kept parts out of a text."""
    first = 1 + max((span.tag for span in marked.spans), default=-1)
    parts = [Span(*place, first + n, _INNERMOST) for n, place in enumerate(_with_punctuation(marked))]
    kept = {
        part.tag: (marked.text[part.start : part.end], start - part.start, end - part.start)
        for part, (start, end) in zip(parts, marked.kept, strict=True)
    }
    text, place = _without(marked.text, parts)
    spans = _merged(marked.spans, parts)
    held_by = parents(spans)
    depths: list[int] = []
    for parent in held_by:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    left = tuple(
        Span(place[span.start], place[span.end], span.tag, depth) for span, depth in zip(spans, depths, strict=True)
    )
    joined = {part.tag: _joined(marked.text, part) for part in parts}
    return Withheld(Marked(text, left), kept, _spaced(marked.text, spans, held_by, kept), joined)


def _with_punctuation(marked: Marked) -> Iterator[tuple[int, int]]:
    """The kept parts with the brackets around them; but nothing is taken over the edge of a tag, or twice."""
    text = marked.text
    edges = {edge for span in marked.spans for edge in (span.start, span.end)}
    low = 0
    for number, (start, end) in enumerate(marked.kept):
        high = marked.kept[number + 1][0] if number + 1 < len(marked.kept) else len(text)
        while start > low and start not in edges:
            closing = _behind_stops(text, end, high, edges)
            if closing >= high or closing in edges or PAIRS.get(text[start - 1]) != text[closing]:
                break
            start, end = start - 1, closing + 1
        before = text[max(low, start - 2) : start].rstrip()
        stops = _behind_stops(text, end, high, edges)
        if (not before or before[-1] in CLOSING) and text[stops : stops + 1].isspace():
            end = stops  # a text or a sentence would begin with it
        yield start, end
        low = end


def _behind_stops(text: str, at: int, high: int, edges: set[int]) -> int:
    while at < high and at not in edges and text[at] in STOPS:
        at += 1
    return at


def _joined(text: str, part: Span) -> tuple[bool, bool]:
    return joins(text[part.start - 1 : part.start]), joins(text[part.end : part.end + 1])


def _spaced(
    text: str, spans: list[Span], held_by: list[int], kept: dict[int, tuple[str, int, int]]
) -> dict[int, tuple[bool, bool]]:
    """Who had a space before it or behind it: a kept part, or the outermost tag that begins or ends with it."""
    before, behind = set(), set()
    for number, part in enumerate(spans):
        if part.tag in kept:
            first = last = number
            while held_by[first] >= 0 and spans[held_by[first]].start == part.start:
                first = held_by[first]
            while held_by[last] >= 0 and spans[held_by[last]].end == part.end:
                last = held_by[last]
            before |= {spans[first].tag} if text[part.start - 1 : part.start].isspace() else set()
            behind |= {spans[last].tag} if text[part.end : part.end + 1].isspace() else set()
    return {tag: (tag in before, tag in behind) for tag in kept.keys() | before | behind}


def _without(text: str, parts: list[Span]) -> tuple[str, list[int]]:
    """What is left, and where in it each place of the text is; no space is left before a comma or at an end."""
    pieces: list[str] = []
    places: list[int] = []
    length = at = 0
    for part in parts:
        before = text[at : part.start]
        if before.endswith(" ") and text[part.end : part.end + 1] in CLOSING:  # or nothing follows
            before = before[:-1]
        pieces.append(before)
        places += [min(length + offset, length + len(before)) for offset in range(part.start - at)]
        length += len(before)
        places += [length] * (part.end - part.start)
        at = part.end
    places += [length + offset for offset in range(len(text) - at + 1)]
    whole = "".join([*pieces, text[at:]])
    lead, bare = len(whole) - len(whole.lstrip()), whole.strip()
    return bare, [min(max(place - lead, 0), len(bare)) for place in places]


def _merged(spans: tuple[Span, ...], parts: list[Span]) -> list[Span]:
    """Tags and kept parts in one order, the outer before the inner."""
    found: list[Span] = []
    waiting = list(reversed(parts))
    for span in spans:
        while waiting and _comes_before(waiting[-1], span):
            found.append(waiting.pop())
        found.append(span)
    return found + waiting[::-1]


def _comes_before(part: Span, span: Span) -> bool:
    return part.start < span.start or (part.start == span.start < span.end < part.end)
