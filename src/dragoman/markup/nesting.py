"""Which tag is in which, and a text walked through together with its tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.markup.marked import Marked, Span

__all__ = ["Edge", "parents", "walk"]


class Edge(NamedTuple):
    """Where a tag begins or ends."""

    span: Span
    is_end: bool


def parents(spans: Sequence[Span]) -> list[int]:
    """For each span the place of the one that holds it, -1 where there is none."""
    found: list[int] = []
    open_: list[int] = []
    for place, span in enumerate(spans):
        while open_ and not _holds(spans[open_[-1]], span):
            open_.pop()
        found.append(open_[-1] if open_ else -1)
        open_.append(place)
    return found


def walk(marked: Marked) -> Iterator[str | Edge]:
    """Yield the text in pieces, none of them empty, and the edges of tags between them; edges are always nested."""
    at = 0
    open_: list[Span] = []
    for span in marked.spans:
        while open_ and not _holds(open_[-1], span):
            end = max(at, open_[-1].end)
            if end > at:
                yield marked.text[at:end]
            yield Edge(open_.pop(), is_end=True)
            at = end
        if span.start > at:
            yield marked.text[at : span.start]
            at = span.start
        yield Edge(span, is_end=False)
        open_.append(span)
    while open_:
        end = max(at, open_[-1].end)
        if end > at:
            yield marked.text[at:end]
        yield Edge(open_.pop(), is_end=True)
        at = end
    if at < len(marked.text):
        yield marked.text[at:]


def _holds(outer: Span, inner: Span) -> bool:
    if inner.start < outer.start or inner.end > outer.end:
        return False
    return inner.start < inner.end or outer.start < inner.start < outer.end or inner.depth > outer.depth
