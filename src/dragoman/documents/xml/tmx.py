"""TMX documents: add a variant in the target language to each translation unit that has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.xml.mixed_content import InlineRole, fill_element, insert_after, is_nested, read_mixed_content
from dragoman.documents.xml.safe_parser import XML_LANG, local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

__all__ = ["read_tmx"]

_MAX_CODE = 64  # characters of a language code that are compared


def read_tmx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a translation memory: its variants in the source language, `srclang`, or the first variant of a unit."""
    return _Tmx(name, data, limits)


class _Tmx:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._name = name
        self._data = data
        self._limits = limits
        root = self._parse().getroot()
        if local_name(root) != "tmx":
            raise DataError(f"{name} must be TMX, got XML with the root {local_name(root)[:40]!r}; check the suffix")
        self.segments = tuple(limits.add(inline.tagged) for _, _, inline in _units(root, limits))

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        changed_segments(self.segments, translated)
        tree = self._parse()
        is_changed = False
        for (unit, variant, inline), tagged in zip(list(_units(tree.getroot(), self._limits)), translated, strict=True):
            if any(_matches(_language(other), language) for other in _variants(unit)):
                continue
            is_changed = True
            made = etree.Element(variant.tag, attrib={XML_LANG: language})
            insert_after(_variants(unit)[-1], made)
            made.text = variant.text
            seg = etree.SubElement(made, _seg(variant).tag)
            seg.tail = _seg(variant).tail
            fill_element(seg, inline.tree(tagged), is_copy=True, is_empty=_is_standalone)
        return serialize_xml(tree, self._data) if is_changed else self._data

    def _parse(self) -> Any:
        return parse_xml(self._name, self._data, self._limits, doctype=True)


def _units(root: Any, limits: DocumentLimits) -> Iterator[tuple[Any, Any, InlineText]]:
    header = next(root.iter("{*}header"), None)
    stated = "" if header is None else header.get("srclang", "")
    nested: dict[Any, bool] = {}
    for unit in root.iter("{*}tu"):
        if is_nested(unit, ("tu",), nested):
            continue  # a copy of the outer unit has a copy of it: copies of copies would fill the memory
        variants = [variant for variant in _variants(unit) if _seg(variant) is not None]
        if not variants:
            continue
        wanted = unit.get("srclang") or stated
        variant = next((some for some in variants if _matches(_language(some), wanted)), variants[0])
        inline = read_mixed_content(_seg(variant), _role_of, limits)
        if inline is not None and inline.tagged.has_words:
            yield unit, variant, inline


def _variants(unit: Any) -> list[Any]:
    return [child for child in unit if local_name(child) == "tuv"]


def _seg(variant: Any) -> Any:
    return next((child for child in variant if local_name(child) == "seg"), None)


def _language(variant: Any) -> str:
    return str(variant.get(XML_LANG) or variant.get("lang") or "")


def _matches(one: str, other: str) -> bool:
    """Whether two language codes match: en-US matches en, but not en-GB."""
    ours, theirs = (code[:_MAX_CODE].lower().replace("_", "-").split("-") for code in (one, other))
    shared = min(len(ours), len(theirs))
    return ours[:shared] == theirs[:shared]


def _role_of(element: Any) -> InlineRole | str:
    if not isinstance(element.tag, str):
        return InlineRole.IGNORED
    return InlineRole.STANDALONE if _is_standalone(element) else InlineRole.CONTAINER


def _is_standalone(element: Any) -> bool:
    return local_name(element) != "hi"
