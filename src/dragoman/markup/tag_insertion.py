"""Insert tags at given positions of a text: correctly nested, in order, with their original spaces."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.markup.punctuation import CLOSING, OPENING
from dragoman.markup.tagged_text import TaggedText, TagSpan
from dragoman.text.characters import is_spaceless

__all__ = ["PlacedTag", "insert_tags"]


@dataclass(slots=True)
class PlacedTag:
    """A tag with its position in the target.

    `place` and `parent` are the indices of its span and of the enclosing span in the source. `space_before` and
    `space_behind` request a space next to an empty tag if the target has none there.
    """

    place: int
    parent: int
    tag: int
    start: int
    end: int
    space_before: bool = False
    space_behind: bool = False


def insert_tags(text: str, placed: Sequence[PlacedTag], kept: Sequence[tuple[int, int]]) -> TaggedText:
    """Return the text with these tags, given in the order of the source, outer before inner."""
    children: dict[int, list[PlacedTag]] = {}
    for each in placed:
        children.setdefault(each.parent, []).append(each)
    writer = _Writer(text)
    levels = [iter(_in_order(children.get(-1, [])))]
    open_: list[tuple[PlacedTag, int]] = []
    while levels:
        inner = next(levels[-1], None)
        if inner is not None:
            open_.append((inner, writer.begin(inner, len(open_))))
            levels.append(iter(_in_order(children.get(inner.place, []))))
            continue
        levels.pop()
        if open_:
            writer.end(*open_.pop())
    return writer.finish(kept)


class _Writer:
    """A text under construction and the current position in its source."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._fragments: list[str] = []
        self._length = 0
        self._spaces: list[int] = []  # positions in the text at which a space was added
        self._spans: list[TagSpan] = []

    def begin(self, each: PlacedTag, depth: int) -> int:
        self._move(each.start)
        last = self._fragments[-1][-1] if self._fragments else ""
        if each.space_before and last and not (last.isspace() or last in OPENING or is_spaceless(last)):
            self._add_space()
        self._spans.append(TagSpan(self._length, self._length, each.tag, depth))
        return len(self._spans) - 1

    def end(self, each: PlacedTag, number: int) -> None:
        self._move(each.end)
        span = self._spans[number]
        self._spans[number] = TagSpan(span.start, self._length, span.tag, span.depth)
        following = self._text[self._at : self._at + 1]
        if (
            each.space_behind
            and following
            and not (following.isspace() or following in CLOSING or is_spaceless(following))
        ):
            self._add_space()

    def finish(self, kept: Sequence[tuple[int, int]]) -> TaggedText:
        self._move(len(self._text))
        moved = ((start + self._added(start), end + self._added(start)) for start, end in kept)
        return TaggedText("".join(self._fragments), tuple(self._spans), tuple(moved))

    def _added(self, place: int) -> int:
        return bisect_right(self._spaces, place)

    def _move(self, to: int) -> None:
        if to > self._at:
            self._fragments.append(self._text[self._at : to])
            self._length += to - self._at
            self._at = to

    def _add_space(self) -> None:
        self._fragments.append(" ")
        self._spaces.append(self._at)
        self._length += 1


def _in_order(brothers: Sequence[PlacedTag]) -> list[PlacedTag]:
    """Order the children of one tag from left to right and make them disjoint; the later of two is shortened."""
    held = sorted((each for each in brothers if each.start < each.end), key=lambda each: each.start)
    end = 0
    for each in held:
        each.start = max(each.start, end)
        each.end = max(each.start, each.end)
        end = each.end
    held = [each for each in held if each.start < each.end]
    starts = [each.start for each in held]
    for each in brothers:
        around = bisect_left(starts, each.start) - 1
        if each.start == each.end and around >= 0 and each.start < held[around].end:
            each.start = each.end = held[around].start if each.place < held[around].place else held[around].end
    return sorted(brothers, key=lambda each: (each.start, each.end > each.start, each.place))
