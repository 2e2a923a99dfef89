"""Compute which tag contains which, and iterate over a text together with its tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.markup.tagged_text import TaggedText, TagSpan

__all__ = ["TagEdge", "parent_indices", "walk_tags"]


class TagEdge(NamedTuple):
    """Start or end of a tag."""

    span: TagSpan
    is_end: bool


def parent_indices(spans: Sequence[TagSpan]) -> list[int]:
    """Return for each span the index of its innermost enclosing span, or -1."""
    found: list[int] = []
    open_: list[int] = []
    for place, span in enumerate(spans):
        while open_ and not _holds(spans[open_[-1]], span):
            open_.pop()
        found.append(open_[-1] if open_ else -1)
        open_.append(place)
    return found


def walk_tags(tagged: TaggedText) -> Iterator[str | TagEdge]:
    """Yield non-empty fragments of the text and, between them, the edges of the tags; edges are always nested."""
    at = 0
    open_: list[TagSpan] = []
    for span in tagged.spans:
        while open_ and not _holds(open_[-1], span):
            end = max(at, open_[-1].end)
            if end > at:
                yield tagged.text[at:end]
            yield TagEdge(open_.pop(), is_end=True)
            at = end
        if span.start > at:
            yield tagged.text[at : span.start]
            at = span.start
        yield TagEdge(span, is_end=False)
        open_.append(span)
    while open_:
        end = max(at, open_[-1].end)
        if end > at:
            yield tagged.text[at:end]
        yield TagEdge(open_.pop(), is_end=True)
        at = end
    if at < len(tagged.text):
        yield tagged.text[at:]


def _holds(outer: TagSpan, inner: TagSpan) -> bool:
    if inner.start < outer.start or inner.end > outer.end:
        return False
    return inner.start < inner.end or outer.start < inner.start < outer.end or inner.depth > outer.depth
