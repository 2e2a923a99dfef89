"""Between a format's own inline markup and `Marked`: a text is built tag by tag, and its translation read as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman.markup.marked import Marked, Span
from dragoman.markup.nesting import walk
from dragoman.markup.placeholders import kept_in

__all__ = ["Held", "Inline", "InlineBuilder", "Node"]


@dataclass
class Held:
    """A tag of the source and what it holds in the translation."""

    tag: Any
    inside: list[Node]


Node = str | Held


@dataclass(frozen=True)
class Inline:
    """A text of a document without the white space around it, and what its tags stand for."""

    marked: Marked
    tags: tuple[Any, ...]
    """By the number of a span's tag: what the format put there."""
    empty: frozenset[int]
    """The tags that cannot hold text. Each stands for something of which there is one: it comes exactly once."""
    before: str = ""
    after: str = ""
    spaced: frozenset[int] = frozenset()
    """Line breaks and the like, for which a space was put into the text, so that the words beside them are two."""

    def tree(self, translated: Marked) -> list[Node]:
        """The translation with its tags as a tree, and the white space around it."""
        root: list[Node] = [self.before] if self.before else []
        open_ = [root]
        used: set[int] = set()
        for each in walk(translated):
            if isinstance(each, str):
                open_[-1].append(each)
            elif each.is_end:
                open_.pop()
            elif each.span.tag in self.empty:
                if each.span.tag not in used:
                    open_[-1].append(Held(self.tags[each.span.tag], []))
                used.add(each.span.tag)
                open_.append(open_[-1])  # should anything be said to be in it, it comes behind it
            else:
                held = Held(self.tags[each.span.tag], [])
                open_[-1].append(held)
                open_.append(held.inside)
        root += [Held(self.tags[tag], []) for tag in sorted(self.empty - used)]
        if self.spaced:
            _take_spaces(root, {id(self.tags[tag]) for tag in self.spaced})
        return [*root, self.after] if self.after else root


def _take_spaces(nodes: list[Node], spaced: set[int]) -> None:
    """Take away the spaces that were put into the source beside tags which need none."""
    for place, node in enumerate(nodes):
        if isinstance(node, str):
            continue
        _take_spaces(node.inside, spaced)
        if id(node.tag) in spaced:
            after = nodes[place + 1] if place + 1 < len(nodes) else None
            before = nodes[place - 1] if place else None
            if isinstance(after, str) and after.startswith(" "):
                nodes[place + 1] = after[1:]
            elif isinstance(before, str) and before.endswith(" "):
                nodes[place - 1] = before[:-1]


class InlineBuilder:
    """Collects text and tags in their order in the file."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._open: list[int] = []
        self._kept: list[tuple[int, int]] = []
        self._tags: list[Any] = []
        self._empty: set[int] = set()
        self._breaks: list[int] = []  # the tags behind which a space is to be, should text follow
        self._spaced: set[int] = set()

    def add_text(self, text: str, *, is_kept: bool = False) -> None:
        """Add text; what `is_kept` must not change by a byte."""
        if not text:
            return
        if not text[0].isspace():
            self._add_space()
        self._breaks = []
        if is_kept:
            self._kept.append((self._length, self._length + len(text)))
        self._texts.append(text)
        self._length += len(text)

    def open(self, tag: Any) -> None:
        """Begin what a tag holds."""
        self._add_space()
        self._add(tag)
        self._open.append(len(self._spans) - 1)

    def close(self) -> None:
        """End what the innermost open tag holds."""
        index = self._open.pop()
        self._spans[index] = replace(self._spans[index], end=self._length)

    def add_empty(self, tag: Any, *, breaks: bool = False) -> None:
        """Add something that stands between words and is none; what `breaks` parts words as a space does."""
        self._empty.add(len(self._tags))
        if breaks and self._length and not self._texts[-1][-1:].isspace():
            self._breaks.append(len(self._tags))
        self._add(tag)

    def _add_space(self) -> None:
        if self._breaks:
            self._spaced.add(self._breaks[0])
            self._breaks = []
            self._texts.append(" ")
            self._length += 1

    def _add(self, tag: Any) -> None:
        self._spans.append(Span(self._length, self._length, len(self._tags), len(self._open)))
        self._tags.append(tag)

    def build(self) -> Inline:
        """What was collected, without the white space around it."""
        whole = "".join(self._texts)
        text = whole.strip()
        begin = len(whole) - len(whole.lstrip())

        def moved(place: int) -> int:
            return min(max(place - begin, 0), len(text))

        spans = [replace(span, start=moved(span.start), end=moved(span.end)) for span in self._spans]
        own = [(moved(start), moved(end)) for start, end in self._kept]
        marked = Marked(text, tuple(spans), _all_kept(text, own))
        return Inline(
            marked,
            tuple(self._tags),
            frozenset(self._empty),
            whole[:begin],
            whole[begin + len(text) :] if text else "",
            frozenset(self._spaced),
        )


def _all_kept(text: str, own: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """What the format keeps, and the placeholders and addresses apart from it."""
    mine = set(own)
    kept: list[tuple[int, int]] = []
    for start, end, _ in sorted([*((*place, 0) for place in own), *((*place, 1) for place in kept_in(text))]):
        if kept and start < kept[-1][1]:
            if (start, end) not in mine:
                continue
            kept.pop()  # an address that begins before code, and goes on into it
        kept.append((start, end))
    return tuple(kept)
