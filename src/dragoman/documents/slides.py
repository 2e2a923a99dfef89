"""Paragraphs of DrawingML, the language of text on slides and in shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lxml import etree

from dragoman.documents.runs import Atom, Group, Item, Opaque, Run, properties_key
from dragoman.documents.safe_xml import local_name, plain_xml_text

__all__ = ["is_kept", "make_run", "paragraph_group", "paragraphs"]

_STRICT = "http://purl.oclc.org/ooxml/drawingml/main"
_MAIN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_ENDS = {"pPr": "first", "endParaRPr": "last"}
_UNSEEN = {"lang", "altLang", "dirty", "err", "smtClean", "smtId", "noProof", "bmk"}
_TABS = re.compile(r"([\t\v]+)")


def paragraphs(root: Any) -> Iterator[Any]:
    """All paragraphs of a part, those in tables and groups among them."""
    yield from root.iter(f"{{{_MAIN}}}p", f"{{{_STRICT}}}p")


def is_kept(child: Any) -> str:
    """The properties of a paragraph stay its first child, those of its end the last."""
    return _ENDS.get(local_name(child), "")


def paragraph_group(paragraph: Any) -> Group:
    """What a paragraph holds."""
    items: list[Item] = []
    for child in paragraph:
        if local_name(child) == "r":
            items.extend(_run_items(child))
        elif not is_kept(child):
            items.append(Opaque([Atom(child)], breaks=local_name(child) == "br"))
    return Group.of(items)


def _run_items(run: Any) -> Iterator[Item]:
    properties = next((part for part in run if local_name(part) == "rPr"), None)
    key = properties_key(properties, lambda _, attribute: attribute in _UNSEEN)
    text = "".join(part.text or "" for part in run if local_name(part) == "t")
    for place, piece in enumerate(_TABS.split(text)):
        if place % 2:
            yield Opaque([Atom(make_run(piece, properties, like=run))], breaks=True)
        elif piece:
            yield Run(piece, key, properties)


def make_run(content: str | Any, properties: Any, like: Any = None) -> Any:
    """A run with a text."""
    sample = like if like is not None else properties
    space = _STRICT if sample is not None and etree.QName(sample).namespace == _STRICT else _MAIN
    run = etree.Element(f"{{{space}}}r", nsmap={"a": space})
    if properties is not None:
        copy = deepcopy(properties)
        copy.tail = None
        run.append(copy)
    etree.SubElement(run, f"{{{space}}}t").text = plain_xml_text(str(content))
    return run
