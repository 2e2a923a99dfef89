"""Text with simple tags in it, as in subtitles and in the messages of programs: ``<i>so</i>``, ``<br>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.inline import Inline, InlineBuilder, Node

__all__ = ["read_tagged", "written_tagged"]

_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")
_DEEPEST = 40  # what is nested deeper stands alone


@dataclass(frozen=True)
class _Tag:
    opening: str
    closing: str = ""


def read_tagged(text: str, tag: re.Pattern[str]) -> Inline:
    """A text whose tags `tag` finds. One that is not closed, or was not opened, stands alone."""
    found = list(tag.finditer(text))
    closed_by = _pairs([match[0] for match in found])
    closers = set(closed_by.values())
    builder = InlineBuilder()
    done = 0
    for place, match in enumerate(found):
        builder.add_text(text[done : match.start()])
        done = match.end()
        if place in closed_by:
            builder.open(_Tag(match[0], found[closed_by[place]][0]))
        elif place in closers:
            builder.close()
        else:
            builder.add_empty(_Tag(match[0]), breaks=match[0].lower().startswith("<br"))
    builder.add_text(text[done:])
    return builder.build()


def _pairs(tags: Sequence[str]) -> dict[int, int]:
    """Which tag is closed by which: nested, so of tags that cross only one is closed."""
    pairs: dict[int, int] = {}
    open_: list[tuple[str, int]] = []
    for place, tag in enumerate(tags):
        named = _NAME.match(tag)
        if named is None or tag.endswith("/>"):
            continue
        name = named[1].lower()
        if not tag.startswith("</"):
            open_ += [(name, place)] if len(open_) < _DEEPEST else []
            continue
        depth = next((back for back in range(len(open_), 0, -1) if open_[back - 1][0] == name), 0)
        if depth:
            pairs[open_[depth - 1][1]] = place
            del open_[depth - 1 :]
    return pairs


def written_tagged(nodes: Sequence[Node]) -> str:
    """A translation with its tags."""
    return "".join(
        node if isinstance(node, str) else node.tag.opening + written_tagged(node.inside) + node.tag.closing
        for node in nodes
    )
