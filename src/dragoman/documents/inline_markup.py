"""Convert the inline markup of a document to `TaggedText`, and its translation back to a tree of tags."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.documents.limits import DocumentLimits
from dragoman.documents.range_markers import PlacedMarker, RangeMarker, nested_pairs
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText, TagSpan, walk_tags
from dragoman.text.characters import has_letters


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
    ranges: Mapping[int, int] = field(default_factory=dict)
    """End marker by start marker of each range, which is one span of the text."""
    crossing: frozenset[int] = frozenset()
    """Markers of ranges, if some cross each other or a tag: they are empty tags and keep their order."""
    gaps: Mapping[int, str] = field(default_factory=dict)
    """White space before each empty tag that precedes the first word or follows the last one, outside other tags."""

    def tree(self, translated: TaggedText) -> list[Node]:
        """Return the translation as a tree of tags, with the original surrounding white space."""
        root: list[Node] = []
        open_ = [root]
        used: set[int] = set()
        crossing: list[TagNode] = []

        def add(tag: int) -> None:
            if tag not in used:
                node = TagNode(self.tags[tag], [])
                open_[-1].append(node)
                crossing.extend([node] if tag in self.crossing else [])
            used.add(tag)

        for each in walk_tags(translated):
            if isinstance(each, str):
                open_[-1].append(each)
            elif each.is_end:
                open_.pop()
                if each.span.tag in self.ranges:
                    add(self.ranges[each.span.tag])
            elif each.span.tag in self.empty:
                add(each.span.tag)
                open_.append(open_[-1])  # any content of an empty tag is placed after it
            else:
                held = TagNode(self.tags[each.span.tag], [])
                open_[-1].append(held)
                open_.append(held.children)
        for tag in sorted(self.empty - used):
            add(tag)
        for node, tag in zip(crossing, sorted(self.crossing), strict=True):
            node.tag = self.tags[tag]
        if self.spaced:
            _take_spaces(root, {id(self.tags[tag]) for tag in self.spaced})
        return self._with_outer_spaces(root)

    def _with_outer_spaces(self, root: list[Node]) -> list[Node]:
        """Add the surrounding white space; tags that the source has at an end have it on the same sides."""
        gaps = {id(self.tags[tag]): gap for tag, gap in self.gaps.items()}

        def is_outer(node: Node) -> bool:
            return isinstance(node, TagNode) and id(node.tag) in gaps

        def spread(space: str, nodes: Sequence[Node]) -> list[Node]:
            spread_: list[Node] = []
            for node in nodes:
                gap = gaps[id(node.tag)] if isinstance(node, TagNode) else ""
                spread_ += [gap, node] if space.startswith(gap) else [node]
                space = space.removeprefix(gap)
            return [each for each in (*spread_, space) if each]

        first = next((place for place, node in enumerate(root) if not is_outer(node)), len(root))
        last = next((place for place in range(len(root), first, -1) if not is_outer(root[place - 1])), first)
        return [*spread(self.before, root[:first]), *root[first:last], *spread(self.after, root[last:])]


def _take_spaces(root: list[Node], spaced: set[int]) -> None:
    """Remove the spaces that were added to the source next to tags in `spaced`; other tags may be between."""
    leaves = list(_leaves(root))
    after: list[int | None] = [None] * len(leaves)  # the next text of each leaf
    for place in range(len(leaves) - 1, 0, -1):
        nodes, index = leaves[place]
        after[place - 1] = place if isinstance(nodes[index], str) else after[place]
    before: int | None = None
    for place, (nodes, index) in enumerate(leaves):
        node = nodes[index]
        if isinstance(node, str):
            before = place
        elif id(node.tag) in spaced:
            for text, is_after in ((after[place], True), (before, False)):
                if text is not None and _take_space(*leaves[text], at_start=is_after):
                    break


def _leaves(nodes: list[Node]) -> Iterator[tuple[list[Node], int]]:
    """Yield the list and the index of each text and each tag without content, in order."""
    for index, node in enumerate(nodes):
        if isinstance(node, str) or not node.children:
            yield nodes, index
        else:
            yield from _leaves(node.children)


def _take_space(nodes: list[Node], index: int, *, at_start: bool) -> bool:
    """Remove a space from the start or the end of a text; return whether it had one."""
    text = nodes[index]
    assert isinstance(text, str)
    nodes[index] = text.removeprefix(" ") if at_start else text.removesuffix(" ")
    return nodes[index] != text


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
        self._markers: list[PlacedMarker] = []

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
        self._add_space()
        self._add(tag)
        self._open.append(len(self._spans) - 1)

    def close(self) -> None:
        index = self._open.pop()
        span = self._spans[index]
        self._spans[index] = TagSpan(span.start, self._length, span.tag, span.depth)

    def add_empty(self, tag: Any, *, breaks: bool = False, marker: RangeMarker | None = None) -> None:
        """Add a tag without content; with `breaks` it separates words as a space does.

        Two tags with a `marker` of one range become a span, so that they stay around the words between them.
        """
        if marker is not None:
            self._markers.append(PlacedMarker(marker, len(self._tags), self._open[-1] if self._open else -1))
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

        ranges, crossing = nested_pairs(self._markers)
        spans = [
            TagSpan(moved(span.start), moved(span.end), span.tag, span.depth)
            for span in _with_ranges(self._spans, ranges)
        ]
        own = [(moved(start), moved(end)) for start, end in self._kept]
        tagged = TaggedText(text, tuple(spans), _all_kept(text, own, spans))
        return InlineText(
            tagged,
            tuple(self._tags),
            frozenset(self._empty),
            whole[:begin],
            whole[begin + len(text) :] if text else "",
            frozenset(self._spaced),
            ranges,
            frozenset(crossing),
            self._gaps(whole, begin, begin + len(text), {*ranges, *ranges.values(), *crossing}),
        )

    def _gaps(self, whole: str, begin: int, end: int, paired: set[int]) -> dict[int, str]:
        """Return the white space before each tag outside the words, which are ``whole[begin:end]``."""
        loose = self._empty - paired
        gaps: dict[int, str] = {}
        done = 0
        for span in self._spans:
            if span.tag in loose and not span.depth and not begin < span.start < end:
                done = max(done, end) if span.start >= end else done
                gaps[span.tag] = whole[done : span.start]
                done = span.start
        return gaps


def _with_ranges(spans: Sequence[TagSpan], ranges: Mapping[int, int]) -> Iterator[TagSpan]:
    """Yield spans with one in place of both markers of each range; tag numbers are indices of the spans."""
    ends = set(ranges.values())
    depth = 0  # ranges around the current span
    for span in spans:
        if span.tag in ends:
            depth -= 1
            continue
        end = spans[ranges[span.tag]].start if span.tag in ranges else span.end
        yield TagSpan(span.start, end, span.tag, span.depth + depth)
        depth += span.tag in ranges


def _all_kept(text: str, own: Sequence[tuple[int, int]], spans: Sequence[TagSpan]) -> tuple[tuple[int, int], ...]:
    """Merge the spans kept by the format with those of placeholders and addresses.

    Of two that overlap the format's wins. A placeholder in braces is united with it if no tag starts or ends inside.
    """
    found = find_placeholders(text)
    if not own:
        return found
    own, mine = sorted(own), set(own)
    edges = sorted({edge for span in spans for edge in (span.start, span.end)})
    kept: list[tuple[int, int]] = []
    for start, end, _ in sorted([*((*place, 0) for place in own), *((*place, 1) for place in found)]):
        if kept and start < kept[-1][1]:
            first, last = kept[-1][0], max(kept[-1][1], end)
            if "{" in (text[first], text[start]) and bisect_right(edges, first) == bisect_left(edges, last):
                kept[-1] = (first, last)  # {#if a} in {{#if a}}, $…{$ in $t(x) and {$y}
                continue
            if (start, end) not in mine:
                continue
            first = kept.pop()[0]  # an address that starts before code and overlaps it
            kept += [
                each for each in own[bisect_left(own, (first, 0)) : bisect_left(own, (start, 0))] if each[1] <= start
            ]
        kept.append((start, end))
    return tuple(kept)
