"""Parse and render text with simple inline tags, ``<i>x</i>`` and ``<br>``, as in subtitles and program messages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.range_markers import RangeMarker
from dragoman.markup.protected_spans import match_placeholders

_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")
_MAX_DEPTH = 40  # deeper tags are treated as unpaired


@dataclass(frozen=True)
class _Tag:
    opening: str
    closing: str = ""


def parse_tags(text: str, tag: re.Pattern[str], limits: DocumentLimits) -> InlineText:
    """Parse a text; `tag` matches its tags. An unpaired start or end tag becomes an empty tag.

    What is part of a placeholder, as in ``%<name>s``, is no tag. A zero character is an empty tag that is not written.
    """
    found = _outside_placeholders(text, tag)
    closed_by = _pairs([match[0] for match in found])
    closers = set(closed_by.values())
    builder = InlineBuilder(limits)
    done = 0
    for place, match in enumerate(found):
        builder.add_text(text[done : match.start()])
        done = match.end()
        if place in closed_by:
            builder.open(_Tag(match[0], found[closed_by[place]][0]))
        elif place in closers:
            builder.close()
        else:
            builder.add_empty(
                _Tag(match[0].strip("\0")), breaks=match[0].lower().startswith("<br"), marker=tag_marker(match[0])
            )
    builder.add_text(text[done:])
    return builder.build()


def _outside_placeholders(text: str, tag: re.Pattern[str]) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    waiting = iter(match_placeholders(text))
    start = end = 0
    for match in tag.finditer(text):
        while end < match.end() and (following := next(waiting, None)):
            _, start, end = following
        if not (start <= match.start() and match.end() <= end and end - start > len(match[0])):
            found.append(match)
    return found


def tag_marker(tag: str) -> RangeMarker | None:
    """Return what an unpaired tag marks: one that crosses another must not come after its end."""
    named = _NAME.match(tag)
    return RangeMarker(("", named[1].lower()), not tag.startswith("</")) if named and not tag.endswith("/>") else None


def _pairs(tags: Sequence[str]) -> dict[int, int]:
    """Return the index of the end tag by that of the start tag; of two crossing pairs only one is kept."""
    pairs: dict[int, int] = {}
    open_: list[tuple[str, int]] = []
    for place, tag in enumerate(tags):
        named = _NAME.match(tag)
        if named is None or tag.endswith("/>"):
            continue
        name = named[1].lower()
        if not tag.startswith("</"):
            open_ += [(name, place)] if len(open_) < _MAX_DEPTH else []
            continue
        depth = next((back for back in range(len(open_), 0, -1) if open_[back - 1][0] == name), 0)
        if depth:
            pairs[open_[depth - 1][1]] = place
            del open_[depth - 1 :]
    return pairs


def render_tags(nodes: Sequence[Node]) -> str:
    """Render a translation with its tags; at a zero character, which divides it, tags are closed and opened again."""
    return "".join(
        node
        if isinstance(node, str)
        else node.tag.opening
        + render_tags(node.children).replace("\0", f"{node.tag.closing}\0{node.tag.opening}")
        + node.tag.closing
        for node in nodes
    )
