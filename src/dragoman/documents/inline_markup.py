"""Convert the inline markup of a document to `TaggedText`, and its translation back to a tree of tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.documents.limits import DocumentLimits
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tag_nesting import walk_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan
from dragoman.text.characters import has_letters

__all__ = ["InlineBuilder", "InlineText", "Node", "TagNode"]


@dataclass
class TagNode:
    """A tag of the source with its content in the translation."""

    tag: Any
    children: list[Node]


Node = str | TagNode


@dataclass(frozen=True)
class InlineText:
    """A text of a document without surrounding white space, and the format's data for its tags."""

    tagged: TaggedText
    tags: tuple[Any, ...]
    """The format's object for each tag number."""
    empty: frozenset[int]
    """Tags without content; each occurs exactly once in the translation."""
    before: str = ""
    after: str = ""
    spaced: frozenset[int] = frozenset()
    """Line breaks and similar tags for which a space was added to the text, to separate the adjacent words."""

    def tree(self, translated: TaggedText) -> list[Node]:
        """Return the translation as a tree of tags, with the original surrounding white space."""
        root: list[Node] = [self.before] if self.before else []
        open_ = [root]
        used: set[int] = set()
        for each in walk_tags(translated):
            if isinstance(each, str):
                open_[-1].append(each)
            elif each.is_end:
                open_.pop()
            elif each.span.tag in self.empty:
                if each.span.tag not in used:
                    open_[-1].append(TagNode(self.tags[each.span.tag], []))
                used.add(each.span.tag)
                open_.append(open_[-1])  # any content of an empty tag is placed after it
            else:
                held = TagNode(self.tags[each.span.tag], [])
                open_[-1].append(held)
                open_.append(held.children)
        root += [TagNode(self.tags[tag], []) for tag in sorted(self.empty - used)]
        if self.spaced:
            _take_spaces(root, {id(self.tags[tag]) for tag in self.spaced})
        return [*root, self.after] if self.after else root


def _take_spaces(nodes: list[Node], spaced: set[int]) -> None:
    """Remove the spaces that were added to the source next to tags in `spaced`."""
    for place, node in enumerate(nodes):
        if isinstance(node, str):
            continue
        _take_spaces(node.children, spaced)
        if id(node.tag) in spaced:
            after = nodes[place + 1] if place + 1 < len(nodes) else None
            before = nodes[place - 1] if place else None
            if isinstance(after, str) and after.startswith(" "):
                nodes[place + 1] = after[1:]
            elif isinstance(before, str) and before.endswith(" "):
                nodes[place - 1] = before[:-1]


class InlineBuilder:
    """Builder of an `InlineText` from text and tags in file order; `limits` are checked with each of them."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._texts: list[str] = []
        self._length = 0
        self._spans: list[TagSpan] = []
        self._open: list[int] = []
        self._kept: list[tuple[int, int]] = []
        self._tags: list[Any] = []
        self._empty: set[int] = set()
        self._breaks: list[int] = []  # tags that need a space after them if text follows
        self._spaced: set[int] = set()

    def add_text(self, text: str, *, is_kept: bool = False) -> None:
        """Add text; with `is_kept` it must stay byte-identical."""
        if not text:
            return
        if not text[0].isspace():
            self._add_space()
        self._breaks = []
        if is_kept:
            self._kept.append((self._length, self._length + len(text)))
        self._texts.append(text)
        self._length += len(text)
        self._limits.check_paragraph(self._length)

    def open(self, tag: Any) -> None:
        """Open a tag."""
        self._add_space()
        self._add(tag)
        self._open.append(len(self._spans) - 1)

    def close(self) -> None:
        """Close the innermost open tag."""
        index = self._open.pop()
        span = self._spans[index]
        self._spans[index] = TagSpan(span.start, self._length, span.tag, span.depth)

    def add_empty(self, tag: Any, *, breaks: bool = False) -> None:
        """Add a tag without content; with `breaks` it separates words as a space does."""
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
        self._spans.append(TagSpan(self._length, self._length, len(self._tags), len(self._open)))
        self._tags.append(tag)
        self._limits.check_inline_tags(len(self._tags))

    def has_letters(self) -> bool:
        """Whether the text so far has something to translate."""
        return has_letters("".join(self._texts))

    def build(self) -> InlineText:
        """Return the collected text without surrounding white space."""
        whole = "".join(self._texts)
        text = whole.strip()
        begin = len(whole) - len(whole.lstrip())

        def moved(place: int) -> int:
            return min(max(place - begin, 0), len(text))

        spans = [TagSpan(moved(span.start), moved(span.end), span.tag, span.depth) for span in self._spans]
        own = [(moved(start), moved(end)) for start, end in self._kept]
        tagged = TaggedText(text, tuple(spans), _all_kept(text, own))
        return InlineText(
            tagged,
            tuple(self._tags),
            frozenset(self._empty),
            whole[:begin],
            whole[begin + len(text) :] if text else "",
            frozenset(self._spaced),
        )


def _all_kept(text: str, own: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Merge the spans kept by the format with those of placeholders and addresses; the format's spans win."""
    found = find_placeholders(text)
    if not own:
        return found
    mine = set(own)
    kept: list[tuple[int, int]] = []
    for start, end, _ in sorted([*((*place, 0) for place in own), *((*place, 1) for place in found)]):
        if kept and start < kept[-1][1]:
            if (start, end) not in mine:
                continue
            kept.pop()  # an address that starts before code and overlaps it
        kept.append((start, end))
    return tuple(kept)
