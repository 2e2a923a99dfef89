"""A text without what must be kept, for a translator that would damage it; and how to put it back."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.markup.marked import Marked, Span
from dragoman.markup.nesting import parents, walk

__all__ = ["Withheld", "withhold"]

_PAIRS = {"(": ")", "[": "]", '"': '"', "'": "'", "\u2018": "\u2019", "\u201c": "\u201d", "\u201e": "\u201c"}
_PAIRS |= {"\u00ab": "\u00bb", "\u2039": "\u203a"}
_CLOSING = ")]}.,;:!?\u00bb\u2019\u201d\u203a\u2026"
_INNERMOST = 1 << 30  # deeper than any tag: nothing that only touches a kept part is in it


@dataclass(frozen=True)
class Withheld:
    """The text that is left, with a tag that holds nothing in the place of each kept part.

    `kept` are those parts by their tags, each with where in it the part begins and ends: brackets right around one go
    with it. `spaced` says by their tags whether spaces stood before them and behind.
    """

    marked: Marked
    kept: dict[int, tuple[str, int, int]]
    spaced: dict[int, tuple[bool, bool]]

    def given_back(self, translated: Marked) -> Marked:
        """Return a translation of what was left, with the kept parts in the places of their tags."""
        pieces: list[str] = []
        length = 0
        spans: list[Span] = []
        kept: list[tuple[int, int]] = []
        open_: list[int] = []
        for piece in walk(translated):
            if isinstance(piece, str):
                pieces.append(piece)
                length += len(piece)
            elif piece.span.tag in self.kept:
                if not piece.is_end:
                    text, start, end = self.kept[piece.span.tag]
                    pieces.append(text)
                    kept.append((length + start, length + end))
                    length += len(text)
            elif piece.is_end:
                begun = spans[open_[-1]]
                spans[open_.pop()] = Span(begun.start, length, begun.tag, begun.depth)
            else:
                spans.append(Span(length, length, piece.span.tag, len(open_)))
                open_.append(len(spans) - 1)
        return Marked("".join(pieces), tuple(spans), tuple(kept))


def withhold(marked: Marked) -> Withheld:
    """Take the kept parts out of a text."""
    first = 1 + max((span.tag for span in marked.spans), default=-1)
    parts = [Span(*_with_brackets(marked.text, *place), first + n, _INNERMOST) for n, place in enumerate(marked.kept)]
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
    return Withheld(Marked(text, left), kept, _spaced(marked.text, spans, held_by, kept))


def _with_brackets(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and end < len(text) and _PAIRS.get(text[start - 1]) == text[end]:
        start, end = start - 1, end + 1
    return start, end


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
        if before.endswith(" ") and text[part.end : part.end + 1] in _CLOSING:
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
