"""Read and write runs (spans of equally formatted text) in paragraphs of Word and PowerPoint.

The base format of a paragraph is the format of most of its text; only text in another format becomes a tag. A paragraph
whose words were split into runs by a spelling check or an old edit is therefore one text without tags.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node, TagNode
from dragoman.documents.limits import DocumentLimits, DocumentTooLargeError
from dragoman.documents.range_markers import RangeMarker, range_marker

_MAX_COPIED = 32 << 20  # bytes of formatting properties in one part of a translated document


@dataclass
class TextRun:
    """Text with one format."""

    text: str
    key: Any
    """Equal for formats that look the same."""
    properties: Any
    """Element with the formatting properties, or None."""


@dataclass
class RunElement:
    """An element without text of its paragraph: a line break, a picture, a bookmark."""

    element: Any
    """The element; or a string, for text that is written as a run of its own."""
    is_in_run: bool = False
    properties: Any = None
    key: Any = None


@dataclass
class OpaqueItem:
    """Elements that stay together and are copied unchanged."""

    atoms: list[RunElement]
    is_unpaired: bool = False
    """Whether this is one end of a field whose other end is in another paragraph; it must not move."""
    breaks: bool = False
    """Whether it separates the adjacent words."""


@dataclass
class RunGroup:
    """Content of a paragraph or a link. Items before its first word and after its last word keep their position."""

    head: list[OpaqueItem | TextRun]
    items: list[RunItem]
    tail: list[OpaqueItem | TextRun]

    @classmethod
    def from_items(cls, items: Sequence[RunItem], *, is_nested: bool = False) -> RunGroup:
        """Separate the items without text at both ends from the rest.

        Of a container, such as a link, which may move, markers of ranges are not separated: the order of a marker and
        of its partner outside the container has to stay.
        """
        first = next((place for place, item in enumerate(items) if _has_text(item)), len(items))
        last = next((place for place in range(len(items), first, -1) if _has_text(items[place - 1])), first)
        if is_nested and first < last:
            markers = [place for place, item in enumerate(items) if isinstance(item, OpaqueItem) and _marker(item)]
            first, last = min([first, *markers]), max([last, *(place + 1 for place in markers)])
        ends = [[item for item in some if not isinstance(item, RunContainer)] for some in (items[:first], items[last:])]
        return cls(ends[0], list(items[first:last]), ends[1])

    @property
    def base_format(self) -> tuple[Any, Any]:
        """Key and properties element of the format of most of the text."""
        sizes: Counter[Any] = Counter()
        elements: dict[Any, Any] = {}
        for item in self.items:
            if isinstance(item, TextRun):
                sizes[item.key] += len(item.text)
                elements.setdefault(item.key, item.properties)
        if not sizes:
            return None, None
        key = max(sizes, key=lambda some: sizes[some])
        return key, elements[key]

    @property
    def is_movable(self) -> bool:
        """Whether all items between the words may move."""
        return not any(
            item.is_unpaired
            if isinstance(item, OpaqueItem)
            else isinstance(item, RunContainer) and not item.group.is_movable
            for item in self.items
        )


@dataclass
class RunContainer:
    """A link or another container of runs: its content, and a function that wraps other content in a copy of it."""

    group: RunGroup
    around: Callable[[list[Any]], list[Any]]


RunItem = TextRun | OpaqueItem | RunContainer


@dataclass
class _Format:
    properties: Any


def _has_text(item: RunItem) -> bool:
    if isinstance(item, TextRun):
        return bool(item.text.strip())
    return isinstance(item, RunContainer)


def properties_key(properties: Any, ignored: Callable[[Any, str | None], bool]) -> str:
    """Return a comparable key of a format; `ignored` tests whether an element or an attribute has no visible effect.

    It is a digest: the keys of all texts of a paragraph are compared with each other, and formats may be long.
    """
    visible = () if properties is None else _visible(properties, ignored)
    return hashlib.blake2b(repr(visible).encode(), digest_size=16).hexdigest() if visible else ""


def _visible(properties: Any, ignored: Callable[[Any, str | None], bool]) -> tuple[Any, ...]:
    """Return the visible attributes and elements of a format."""
    attributes = [(name, value) for name, value in properties.items() if not ignored(properties, name)]
    children = [
        (child.tag, _visible(child, ignored))
        for child in properties
        if isinstance(child.tag, str) and not ignored(child, None)
    ]
    return (*sorted(attributes), *children)


def group_text(group: RunGroup, limits: DocumentLimits) -> InlineText:
    """Return the text of a group, with tags where its format differs from the base format."""
    builder = InlineBuilder(limits)
    _add(builder, group)
    return builder.build()


def _add(builder: InlineBuilder, group: RunGroup) -> None:
    base_format, _ = group.base_format
    current: Any = base_format
    for item in group.items:
        key = _key_of(item, current, base_format)
        if key is not current and key != current:
            if current != base_format:
                builder.close()
            if key != base_format:
                builder.open(_Format(item.properties if isinstance(item, TextRun) else None))
            current = key
        if isinstance(item, TextRun):
            builder.add_text(item.text)
        elif isinstance(item, OpaqueItem):
            builder.add_empty(item, breaks=item.breaks, marker=_marker(item))
        else:
            builder.open(item)
            _add(builder, item.group)
            builder.close()
    if current != base_format:
        builder.close()


def _marker(item: OpaqueItem) -> RangeMarker | None:
    element = item.atoms[0].element if len(item.atoms) == 1 else ""
    return None if isinstance(element, str) else range_marker(element)


def _key_of(item: RunItem, current: Any, base_format: Any) -> Any:
    """Return the format of an item: a break inside bold text does not end the bold text."""
    if isinstance(item, TextRun):
        return item.key
    if isinstance(item, OpaqueItem) and all(atom.is_in_run and atom.key == current for atom in item.atoms):
        return current
    return base_format


@dataclass
class RunWriter:
    """Writer of translations as runs."""

    make_run: Callable[[str | Any, Any], Any]
    """Create a run from a text or an element, with a copy of the given properties."""
    _written: set[int] = field(default_factory=set)
    _sizes: dict[Any, int] = field(default_factory=dict)  # bytes of the properties that were copied
    _copied: int = 0  # bytes of all copies

    def write(self, paragraph: Any, group: RunGroup, nodes: Sequence[Node], keep: Callable[[Any], str]) -> None:
        """Replace the content of a paragraph by a translation; `keep` returns "first", "last" or "" for a child."""
        old = list(paragraph)
        new = self._group(group, nodes)
        first = [child for child in old if keep(child) == "first"]
        last = [child for child in old if keep(child) == "last"]
        for child in old:
            if child.getparent() is paragraph:
                paragraph.remove(child)
        paragraph.extend([*first, *new, *last])

    def _group(self, group: RunGroup, nodes: Sequence[Node]) -> list[Any]:
        _, base_format = group.base_format
        head, tail = ([], []) if id(group) in self._written else (group.head, group.tail)
        self._written.add(id(group))
        return [
            *(element for some in head for element in self._end(some)),
            *self._nodes(nodes, base_format),
            *(element for some in tail for element in self._end(some)),
        ]

    def _end(self, some: OpaqueItem | TextRun) -> list[Any]:
        if isinstance(some, OpaqueItem):
            return self.elements(some)
        return [self._run(some.text, some.properties)] if some.text else []

    def _run(self, content: str | Any, properties: Any) -> Any:
        """Create a run; raise an error if the copies of the properties take much more space than a document."""
        if properties is not None:
            if properties not in self._sizes:
                self._sizes[properties] = len(etree.tostring(properties))
            self._copied += self._sizes[properties]
            if self._copied > _MAX_COPIED:
                raise DocumentTooLargeError(
                    f"a translated document must have at most {_MAX_COPIED:,} bytes of formatting, got more; simplify "
                    "its formatting"
                )
        return self.make_run(content, properties)

    def _nodes(self, nodes: Sequence[Node], properties: Any) -> list[Any]:
        made: list[Any] = []
        for node in nodes:
            if isinstance(node, str):
                made += [self._run(node, properties)] if node else []
            elif isinstance(node.tag, _Format):
                made += self._nodes(node.children, node.tag.properties)
            elif isinstance(node.tag, OpaqueItem):
                made += self.elements(node.tag)
            else:
                made += self._wrapped(node)
        return made

    def _wrapped(self, node: TagNode) -> list[Any]:
        wrap: RunContainer = node.tag
        return wrap.around(self._group(wrap.group, node.children))

    def elements(self, opaque: OpaqueItem, *, copied: bool = False) -> list[Any]:
        """Return the elements, removed from their old position, or copies of them."""
        made = []
        for atom in opaque.atoms:
            if isinstance(atom.element, str):
                made.append(self._run(atom.element, atom.properties))
                continue
            element = deepcopy(atom.element) if copied else atom.element
            element.tail = None
            made.append(self._run(element, atom.properties) if atom.is_in_run else element)
        return made
