"""Paragraphs made of runs, as Word and PowerPoint write them: each run has its text and its own formatting.

The formatting that most of a paragraph has is its ground; only what differs from it becomes a tag. So a paragraph whose
words were cut into runs by a spelling check, or by an edit years ago, is one text without tags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from dragoman.documents.inline import Held, Inline, InlineBuilder, Node

__all__ = ["Atom", "Group", "Item", "Opaque", "Run", "RunWriter", "Wrap", "inline_of", "properties_key"]


@dataclass
class Run:
    """Text in one formatting."""

    text: str
    key: Any
    """Equal for formattings that look the same."""
    properties: Any
    """The element that says so, or None."""


@dataclass
class Atom:
    """An element that holds no text of its paragraph: a line break, a picture, a bookmark."""

    element: Any
    is_in_run: bool = False
    properties: Any = None
    key: Any = None


@dataclass
class Opaque:
    """Elements that stay together, as they are."""

    atoms: list[Atom]
    is_half: bool = False
    """One end of something whose other end is in another paragraph; it cannot change places."""
    breaks: bool = False
    """Whether it parts the words beside it."""


@dataclass
class Group:
    """What a paragraph or a link holds. What stands before its first and behind its last word keeps that place."""

    head: list[Opaque | Run]
    items: list[Item]
    tail: list[Opaque | Run]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Group:
        """Part what stands at the ends from the rest."""
        first = next((place for place, item in enumerate(items) if _has_text(item)), len(items))
        last = next((place for place in range(len(items), first, -1) if _has_text(items[place - 1])), first)
        ends = [[item for item in some if not isinstance(item, Wrap)] for some in (items[:first], items[last:])]
        return cls(ends[0], list(items[first:last]), ends[1])

    @property
    def ground(self) -> tuple[Any, Any]:
        """The formatting of most of its text: its key and its element."""
        sizes: Counter[Any] = Counter()
        elements: dict[Any, Any] = {}
        for item in self.items:
            if isinstance(item, Run):
                sizes[item.key] += len(item.text)
                elements.setdefault(item.key, item.properties)
        if not sizes:
            return None, None
        key = max(sizes, key=lambda some: sizes[some])
        return key, elements[key]

    @property
    def is_movable(self) -> bool:
        """Whether nothing between its words is tied to its place."""
        return not any(
            item.is_half if isinstance(item, Opaque) else isinstance(item, Wrap) and not item.group.is_movable
            for item in self.items
        )


@dataclass
class Wrap:
    """A link, or whatever else holds runs: what it holds, and how it is written around something else."""

    group: Group
    around: Callable[[list[Any]], list[Any]]


Item = Run | Opaque | Wrap


@dataclass
class _Format:
    properties: Any


def _has_text(item: Item) -> bool:
    if isinstance(item, Run):
        return bool(item.text.strip())
    return isinstance(item, Wrap)


def properties_key(properties: Any, ignored: Callable[[Any, str | None], bool]) -> Any:
    """What a formatting amounts to; `ignored` says of an element, or of an attribute of it, that it does not show."""
    if properties is None:
        return ()
    attributes = [(name, value) for name, value in properties.items() if not ignored(properties, name)]
    children = [
        (child.tag, properties_key(child, ignored))
        for child in properties
        if isinstance(child.tag, str) and not ignored(child, None)
    ]
    return (*sorted(attributes), *children)


def inline_of(group: Group) -> Inline:
    """The text of a group, with tags where its formatting differs from the ground."""
    builder = InlineBuilder()
    _add(builder, group)
    return builder.build()


def _add(builder: InlineBuilder, group: Group) -> None:
    ground, _ = group.ground
    current: Any = ground
    for item in group.items:
        key = _key_of(item, current, ground)
        if key != current:
            if current != ground:
                builder.close()
            if key != ground:
                builder.open(_Format(item.properties if isinstance(item, Run) else None))
            current = key
        if isinstance(item, Run):
            builder.add_text(item.text)
        elif isinstance(item, Opaque):
            builder.add_empty(item, breaks=item.breaks)
        else:
            builder.open(item)
            _add(builder, item.group)
            builder.close()
    if current != ground:
        builder.close()


def _key_of(item: Item, current: Any, ground: Any) -> Any:
    """The formatting that an item is in: a break in bold text does not end the bold text."""
    if isinstance(item, Run):
        return item.key
    if isinstance(item, Opaque) and all(atom.is_in_run and atom.key == current for atom in item.atoms):
        return current
    return ground


@dataclass
class RunWriter:
    """Writes translations as runs."""

    make_run: Callable[[str | Any, Any], Any]
    """Makes a run of a text, or around an element, with the properties that are given (to be copied)."""
    _written: set[int] = field(default_factory=set)

    def write(self, paragraph: Any, group: Group, nodes: Sequence[Node], keep: Callable[[Any], str]) -> None:
        """Put a translation in the place of what a paragraph held; `keep` says "first", "last" or "" of a child."""
        old = list(paragraph)
        new = self._group(group, nodes)
        first = [child for child in old if keep(child) == "first"]
        last = [child for child in old if keep(child) == "last"]
        for child in old:
            if child.getparent() is paragraph:
                paragraph.remove(child)
        paragraph.extend([*first, *new, *last])

    def _group(self, group: Group, nodes: Sequence[Node]) -> list[Any]:
        _, ground = group.ground
        head, tail = ([], []) if id(group) in self._written else (group.head, group.tail)
        self._written.add(id(group))
        return [
            *(element for some in head for element in self._end(some)),
            *self._nodes(nodes, ground),
            *(element for some in tail for element in self._end(some)),
        ]

    def _end(self, some: Opaque | Run) -> list[Any]:
        if isinstance(some, Opaque):
            return self.elements(some)
        return [self.make_run(some.text, some.properties)] if some.text else []

    def _nodes(self, nodes: Sequence[Node], properties: Any) -> list[Any]:
        made: list[Any] = []
        for node in nodes:
            if isinstance(node, str):
                made += [self.make_run(node, properties)] if node else []
            elif isinstance(node.tag, _Format):
                made += self._nodes(node.inside, node.tag.properties)
            elif isinstance(node.tag, Opaque):
                made += self.elements(node.tag)
            else:
                made += self._wrapped(node)
        return made

    def _wrapped(self, node: Held) -> list[Any]:
        wrap: Wrap = node.tag
        return wrap.around(self._group(wrap.group, node.inside))

    def elements(self, opaque: Opaque, *, copied: bool = False) -> list[Any]:
        """The elements themselves, which leave their old places, or copies of them."""
        made = []
        for atom in opaque.atoms:
            element = deepcopy(atom.element) if copied else atom.element
            element.tail = None
            made.append(self.make_run(element, atom.properties) if atom.is_in_run else element)
        return made
