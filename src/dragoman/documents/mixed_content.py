"""Text with elements in it, as OpenDocument, XLIFF and TMX write it: read as one text, and written back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from enum import Enum
from typing import Any

from lxml import etree

from dragoman.documents.inline import Inline, InlineBuilder, Node
from dragoman.documents.safe_xml import plain_xml_text

__all__ = ["Role", "append_text", "clear", "fill", "insert_after", "read_mixed"]


class Role(Enum):
    """What an element in a text is to its translation."""

    HOLDS = "it holds some of the text"
    SHOWS_NOTHING = "it holds some of the text, and nothing would change without it"
    STANDS = "it stands between words, and what it holds is not of this text"
    BREAKS = "it stands between words, and parts them"
    IS_NOTHING = "it may be left out"


def read_mixed(
    element: Any, role_of: Callable[[Any], Role | str], plain: Callable[[str, bool], str] = lambda text, _: text
) -> Inline:
    """The text of an element. `role_of` gives an element's role, or the text that it stands for.

    `plain` is given each piece of text, and whether it is one that an element stands for, and returns what it means.
    Neighbours that are the same but for what they hold are one.
    """
    builder = InlineBuilder()
    _add(builder, element, role_of, plain)
    return builder.build()


def _add(
    builder: InlineBuilder, element: Any, role_of: Callable[[Any], Role | str], plain: Callable[[str, bool], str]
) -> None:
    builder.add_text(plain(element.text or "", False))
    open_: Any = None  # what the last open tag is like

    for child in element:
        role = role_of(child)
        like = (child.tag, sorted(child.attrib.items())) if role is Role.HOLDS else None
        if open_ is not None and open_ != like:
            builder.close()
            open_ = None
        if isinstance(role, str):
            builder.add_text(plain(role, True))
        elif role in (Role.STANDS, Role.BREAKS):
            builder.add_empty(child, breaks=role is Role.BREAKS)
        elif role is not Role.IS_NOTHING:
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
    """Add text behind everything that an element holds."""
    text = plain_xml_text(text)
    last = next(parent.iterchildren(reversed=True), None)  # parent[-1] takes longer the more there are
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def clear(parent: Any) -> None:
    """Take out everything that an element holds; its attributes stay."""
    for child in list(parent):
        parent.remove(child)
    parent.text = None


def fill(
    parent: Any,
    nodes: Sequence[Node],
    *,
    is_copy: bool,
    is_empty: Callable[[Any], bool],
    add_text: Callable[[Any, str], None] = append_text,
) -> None:
    """Write a translation into an empty element; what stands between its words moves there, or is copied there."""
    for node in nodes:
        if isinstance(node, str):
            add_text(parent, node)
        elif is_empty(node.tag):
            made = deepcopy(node.tag) if is_copy else node.tag
            made.tail = None
            parent.append(made)
        else:
            made = etree.SubElement(parent, node.tag.tag, attrib=dict(node.tag.attrib), nsmap=node.tag.nsmap)
            fill(made, node.inside, is_copy=is_copy, is_empty=is_empty, add_text=add_text)


def insert_after(neighbour: Any, element: Any) -> None:
    """Put an element behind another, on a line of its own where the other has one."""
    parent = neighbour.getparent()
    place = parent.index(neighbour)
    before = parent[place - 1].tail if place else parent.text
    element.tail = neighbour.tail
    neighbour.tail = before if before and not before.strip() else neighbour.tail
    parent.insert(place + 1, element)
