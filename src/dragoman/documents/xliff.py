"""XLIFF 1.2 and 2.x: a target is written beside each source that has none, and marked as not yet reviewed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from lxml import etree

from dragoman.documents.document import Document, paired
from dragoman.documents.inline import Inline
from dragoman.documents.mixed_content import Role, clear, fill, insert_after, read_mixed
from dragoman.documents.safe_xml import local_name, parse_xml, serialized
from dragoman.errors import DataError
from dragoman.markup.marked import Marked

__all__ = ["read_xliff"]

_HOLDING = {"g", "mrk", "pc"}
_UNTRANSLATED = {"new", "needs-translation", "initial"}
_UNREVIEWED = {"trans-unit": "needs-review-translation", "segment": "translated"}
"""2.x has no state for what a machine made; "translated" comes before "reviewed"."""


def read_xliff(name: str, data: bytes) -> Document:
    """A file of translation units; those that are translated or not to be translated stay as they are."""
    return _Xliff(name, data)


@dataclass
class _Unit:
    element: Any
    source: Any
    """What is copied to be the target: the source, or the source cut into sentences."""
    target: Any
    texts: list[tuple[int, Inline]]
    """What is translated: the source itself (-1), or the sentences in it by their places among all its elements."""


class _Xliff:
    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._data = data
        root = self._parse().getroot()
        if local_name(root) != "xliff":
            raise DataError(f"{name} must be XLIFF, got XML with the root {local_name(root)[:40]!r}; check the suffix")
        self.segments = tuple(inline.marked for unit in _units(root) for _, inline in unit.texts)

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        paired(self.segments, translated)
        if not translated:
            return self._data
        tree = self._parse()
        new = iter(translated)
        for unit in list(_units(tree.getroot())):
            _write_unit(unit, [next(new) for _ in unit.texts])
        _name_language(tree.getroot(), language)
        return serialized(tree, self._data)

    def _parse(self) -> Any:
        return parse_xml(self._name, self._data, doctype=True)


def _units(root: Any) -> Iterator[_Unit]:
    for element in root.iter("{*}trans-unit", "{*}segment"):
        parts = {local_name(child): child for child in reversed(element) if local_name(child)}
        source, target = parts.get("source"), parts.get("target")
        if source is None or not _is_to_do(element, target):
            continue
        cut = parts.get("seg-source")
        sentences = [] if cut is None else [place for place, mark in enumerate(cut.iter()) if _is_sentence(mark)]
        source = cut if cut is not None and sentences else source
        elements = list(source.iter())
        places = [(place, elements[place]) for place in sentences] or [(-1, source)]
        texts = [(place, read_mixed(text, _role_of)) for place, text in places]
        texts = [(place, inline) for place, inline in texts if inline.marked.has_words]
        if texts:
            yield _Unit(element, source, target, texts)


def _is_to_do(element: Any, target: Any) -> bool:
    asked = [*element.iterancestors(), element]
    told = [some.get("translate") for some in asked if some.get("translate")]
    if told and told[-1] == "no":
        return False
    if element.get("approved") == "yes":
        return False
    holder = element if local_name(element) == "segment" else target
    state = None if holder is None else holder.get("state")
    has_text = target is not None and ("".join(target.itertext()).strip() or len(target))
    return not has_text or state in _UNTRANSLATED


def _is_sentence(mark: Any) -> bool:
    return local_name(mark) == "mrk" and mark.get("mtype") == "seg"


def _role_of(element: Any) -> Role | str:
    if not isinstance(element.tag, str):
        return Role.IS_NOTHING
    return Role.HOLDS if local_name(element) in _HOLDING else Role.STANDS


def _stands(element: Any) -> bool:
    return local_name(element) not in _HOLDING


def _write_unit(unit: _Unit, translated: Sequence[Marked]) -> None:
    target = unit.target
    kind = local_name(unit.element)
    if target is None:
        space = etree.QName(unit.element).namespace
        target = etree.Element(f"{{{space}}}target" if space else "target", nsmap=unit.element.nsmap)
        sources = [child for child in unit.element if local_name(child) in {"source", "seg-source"}]
        insert_after(sources[-1], target)
    clear(target)
    target.text = unit.source.text
    target.extend(deepcopy(child) for child in unit.source)
    elements = list(target.iter())
    for (place, inline), marked in zip(unit.texts, translated, strict=True):
        holder = elements[place] if place >= 0 else target
        clear(holder)
        fill(holder, inline.tree(marked), is_copy=True, is_empty=_stands)
    stated = target if kind == "trans-unit" else unit.element
    stated.set("state", _UNREVIEWED[kind])


def _name_language(root: Any, language: str) -> None:
    if root.get("version", "").startswith("2"):
        root.set("trgLang", language)
        return
    for file in root.iter("{*}file"):
        file.set("target-language", language)
