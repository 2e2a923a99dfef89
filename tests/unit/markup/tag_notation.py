"""Notation of tagged text for tests: ``<b>x</b>``, and ``<br/>`` for an empty tag."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan, walk_tags


def parse(tagged: str) -> tuple[TaggedText, list[str]]:
    """Return the tagged text and the names of its tags."""
    text = ""
    names: list[str] = []
    spans: list[TagSpan] = []
    open_: list[int] = []
    for fragment in re.findall(r"<[^>]*>|[^<]+", tagged):
        if fragment.startswith("</"):
            begun = spans[open_[-1]]
            spans[open_.pop()] = TagSpan(begun.start, len(text), begun.tag, begun.depth)
        elif fragment.startswith("<"):
            spans.append(TagSpan(len(text), len(text), len(names), len(open_)))
            names.append(fragment.strip("</>"))
            if not fragment.endswith("/>"):
                open_.append(len(spans) - 1)
        else:
            text += fragment
    return TaggedText(text, tuple(spans), find_placeholders(text)), names


def render(found: TaggedText, names: Sequence[str]) -> str:
    """Return the text with its tags."""
    fragments = (
        fragment if isinstance(fragment, str) else f"<{'/' * fragment.is_end}{names[fragment.span.tag]}>"
        for fragment in walk_tags(found)
    )
    return re.sub(r"<(\w+)></\1>", r"<\1/>", "".join(fragments))


def projected(source: str, target: str, links: str | None = "") -> str:
    """Project tags by links such as ``0-0 1-2``; "" links words by position, None gives no links."""
    found, names = parse(source)
    words = found.text.split()
    pairs = None if links is None else [tuple(map(int, link.split("-"))) for link in links.split()]
    if links == "":
        pairs = [(place, place) for place in range(len(words))]
    return render(project_tags(found, words, target, target.split(), pairs), names)  # type: ignore[arg-type]
