"""Read and write XML text with inline elements, as in OpenDocument, XLIFF and TMX."""

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from enum import Enum
from typing import Any

from lxml import etree

from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.range_markers import range_marker
from dragoman.documents.xml.safe_parser import local_name, strip_invalid_characters


class InlineRole(Enum):
    """Role of an inline element in the translation."""

    CONTAINER = "contains text of the paragraph"
    TRANSPARENT = "contains text of the paragraph, but has no visible effect"
    STANDALONE = "is between words; its content is not text of the paragraph"
    BREAK = "is between words and separates them"
    MARKER = "is between characters and invisible, such as a bookmark"
    IGNORED = "is dropped"


def read_mixed_content(
    element: Any,
    role_of: Callable[[Any], InlineRole | str],
    limits: DocumentLimits,
    plain: Callable[[str, bool], str] = lambda text, _: text,
) -> InlineText | None:
    """Read the content of an element; None if it has no letters.

    `role_of` returns the role of a child, or the text that it represents.
    `plain` converts each fragment of text; its second argument is True for text that an element represents, which is
    empty for a standalone element. Adjacent elements with the same name and attributes are merged.
    """
    builder = InlineBuilder(limits)
    _add(builder, element, role_of, plain)
    return builder.build() if builder.has_letters() else None


def _add(
    builder: InlineBuilder, element: Any, role_of: Callable[[Any], InlineRole | str], plain: Callable[[str, bool], str]
) -> None:
    builder.add_text(plain(element.text or "", False))
    open_: Any = None  # name and attributes of the open tag

    for child in element:
        role = role_of(child)
        like = (child.tag, sorted(child.attrib.items())) if role is InlineRole.CONTAINER else None
        if open_ is not None and open_ != like:
            builder.close()
            open_ = None
        if isinstance(role, str):
            builder.add_text(plain(role, True))
        elif role in (InlineRole.STANDALONE, InlineRole.BREAK, InlineRole.MARKER):
            builder.add_empty(child, breaks=role is InlineRole.BREAK, marker=range_marker(child))
            if role is not InlineRole.MARKER:
                plain("", True)
        elif role is not InlineRole.IGNORED:
            if like is not None and open_ is None:
                builder.open(child)
                open_ = like
            _add(builder, child, role_of, plain)
        if child.tail:
            if open_ is not None:
                builder.close()
                open_ = None
            builder.add_text(plain(child.tail, False))
    if open_ is not None:
        builder.close()


def append_text(parent: Any, text: str) -> None:
    """Append text to the content of an element."""
    text = strip_invalid_characters(text)
    last = next(parent.iterchildren(reversed=True), None)  # parent[-1] takes linear time
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def clear_element(parent: Any) -> None:
    """Remove the content of an element; its attributes stay."""
    for child in list(parent):
        parent.remove(child)
    parent.text = None


def content_key(element: Any) -> str:
    """Return a string that is equal for equal content: text, and elements with their names and attributes."""
    parts: list[str] = []
    _add_key(parts, element)
    return "".join(parts)


def _add_key(parts: list[str], element: Any) -> None:
    parts.append(element.text or "")
    for child in element:
        if isinstance(child.tag, str):
            parts += ["\0<", child.tag, *(f" {name}={value}" for name, value in sorted(child.attrib.items())), "\0>"]
            _add_key(parts, child)
            parts.append("\0/")
        parts.append(child.tail or "")


def fill_element(
    parent: Any,
    nodes: Sequence[Node],
    *,
    is_copy: bool,
    is_empty: Callable[[Any], bool],
    add_text: Callable[[Any, str], None] = append_text,
) -> None:
    """Write a translation into an empty element; standalone elements are moved or, with `is_copy`, copied."""
    for node in nodes:
        if isinstance(node, str):
            add_text(parent, node)
        elif is_empty(node.tag):
            made = deepcopy(node.tag) if is_copy else node.tag
            made.tail = None
            parent.append(made)
        else:
            made = etree.SubElement(parent, node.tag.tag, attrib=dict(node.tag.attrib), nsmap=node.tag.nsmap)
            fill_element(made, node.children, is_copy=is_copy, is_empty=is_empty, add_text=add_text)


def is_nested(element: Any, names: Collection[str], known: dict[Any, bool]) -> bool:
    """Whether an element is inside another with one of these names; `known` caches the answer for the parents."""
    parent = element.getparent()
    if parent is None:
        return False
    if parent not in known:
        known[parent] = local_name(parent) in names or is_nested(parent, names, known)
    return known[parent]


def insert_after(neighbour: Any, element: Any) -> None:
    """Insert an element after another, on its own line if the other has its own line."""
    parent = neighbour.getparent()
    place = parent.index(neighbour)
    before = parent[place - 1].tail if place else parent.text
    element.tail = neighbour.tail
    neighbour.tail = before if before and not before.strip() else neighbour.tail
    parent.insert(place + 1, element)
