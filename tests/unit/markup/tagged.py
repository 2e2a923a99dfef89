"""Tags written as they are read: ``<b>x</b>``, and ``<br/>`` for one that holds nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.markup.marked import Marked, Span
from dragoman.markup.nesting import walk
from dragoman.markup.placeholders import kept_in
from dragoman.markup.projection import project


def marked(tagged: str) -> tuple[Marked, list[str]]:
    """The text, and the names of its tags."""
    text = ""
    names: list[str] = []
    spans: list[Span] = []
    open_: list[int] = []
    for piece in re.findall(r"<[^>]*>|[^<]+", tagged):
        if piece.startswith("</"):
            begun = spans[open_[-1]]
            spans[open_.pop()] = Span(begun.start, len(text), begun.tag, begun.depth)
        elif piece.startswith("<"):
            spans.append(Span(len(text), len(text), len(names), len(open_)))
            names.append(piece.strip("</>"))
            if not piece.endswith("/>"):
                open_.append(len(spans) - 1)
        else:
            text += piece
    return Marked(text, tuple(spans), kept_in(text)), names


def tagged(found: Marked, names: Sequence[str]) -> str:
    """The text with its tags."""
    pieces = (
        piece if isinstance(piece, str) else f"<{'/' * piece.is_end}{names[piece.span.tag]}>" for piece in walk(found)
    )
    return re.sub(r"<(\w+)></\1>", r"<\1/>", "".join(pieces))


def projected(source: str, target: str, links: str | None = "") -> str:
    """Project tags; links are ``0-0 1-2``, or each word is linked to the one in its place, or there are none."""
    found, names = marked(source)
    words = found.text.split()
    pairs = None if links is None else [tuple(map(int, link.split("-"))) for link in links.split()]
    if links == "":
        pairs = [(place, place) for place in range(len(words))]
    return tagged(project(found, words, target, target.split(), pairs), names)  # type: ignore[arg-type]
