"""TMX documents: add a variant in the target language to each translation unit that has none.

A property of the variant has the mark of `translation_marks`. Units have no state: a variant without a mark, or changed
since, is reviewed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lxml import etree

from dragoman.documents.document import Document, changed_segments, target_tag
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.translation_marks import EarlierTranslation, find_mark
from dragoman.documents.xml.mixed_content import (
    InlineRole,
    clear_element,
    content_key,
    fill_element,
    insert_after,
    is_nested,
    read_mixed_content,
)
from dragoman.documents.xml.safe_parser import XML_LANG, local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

_MARK_TYPE = "x-dragoman"
_MAX_CODE = 64  # characters of a language code that are compared


def read_tmx(name: str, data: bytes, limits: DocumentLimits, *, again: bool = False) -> Document:
    """Read a translation memory: its variants in the source language, `srclang`, or the first variant of a unit.

    With `again`, variants that this tool added are translated again.
    """
    return _Tmx(name, data, limits, again=again)


class _Tmx:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, again: bool) -> None:
        self._again = again
        self._name = name
        self._data = data
        self._limits = limits
        root = self._parse().getroot()
        if local_name(root) != "tmx":
            raise DataError(f"{name} must be TMX, got XML with the root {local_name(root)[:40]!r}; check the suffix")
        self.segments = tuple(limits.add(inline.tagged) for _, _, inline in _units(root, limits))
        self._language = ""

    def select(self, language: str) -> None:
        """Leave out the segments of units that have a translation to this language."""
        self._language = language
        units = _units(self._parse().getroot(), DocumentLimits(self._name))
        self.segments = tuple(
            segment
            for (unit, variant, _), segment in zip(units, self.segments, strict=True)
            if self._target(unit, variant, language) is not None
        )

    def _target(self, unit: Any, variant: Any, language: str) -> tuple[EarlierTranslation, Any] | None:
        """Return the translation of a unit that may be written, and its variant if there is one."""
        source = content_key(_seg(variant))
        others = [other for other in _variants(unit) if _matches(_language(other), language)]
        if variant in others or len(others) > 1:
            return None
        earlier = _earlier_translation(source, others[0]) if others else EarlierTranslation(source, ("",))
        return (earlier, others[0] if others else None) if any(earlier.writable(again=self._again)) else None

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)):
            return self._data
        tree = self._parse()
        is_changed = False
        tag = _target_tag(tree.getroot(), language)
        found = [(*each, self._target(*each[:2], language)) for each in _units(tree.getroot(), self._limits)]
        if self._language:
            found = [each for each in found if each[3] is not None]
        for (unit, variant, inline, known), old, tagged in zip(found, self.segments, translated, strict=True):
            if old is tagged or known is None:
                continue
            is_changed = True
            earlier, other = known
            target = _add_variant(unit, variant, tag) if other is None else other
            seg = _seg(target)
            clear_element(seg)
            fill_element(seg, inline.tree(tagged), is_copy=True, is_empty=_is_standalone)
            _set_mark(target, earlier.new_mark([content_key(seg)], [True]))
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


def _target_tag(root: Any, language: str) -> str:
    """Return the tag of new variants: the one that most variants of the file in this language have."""
    tags = Counter(_language(variant) for unit in root.iter("{*}tu") for variant in _variants(unit))
    return next((tag for tag, _ in tags.most_common() if target_tag(tag, language) == tag), language)


def _earlier_translation(source: str, variant: Any) -> EarlierTranslation:
    seg, prop = _seg(variant), _mark_property(variant)
    form = "no text" if seg is None else content_key(seg)
    found = EarlierTranslation(source, (form,), "" if prop is None else find_mark(prop.text or ""))
    return found if found.is_own else replace(found, is_reviewed=True)


def _add_variant(unit: Any, variant: Any, tag: str) -> Any:
    made = etree.Element(variant.tag, attrib={XML_LANG: tag})
    insert_after(_variants(unit)[-1], made)
    made.text = variant.text
    etree.SubElement(made, _seg(variant).tag).tail = _seg(variant).tail
    return made


def _mark_property(variant: Any) -> Any:
    return next((child for child in variant if local_name(child) == "prop" and child.get("type") == _MARK_TYPE), None)


def _set_mark(variant: Any, mark: str) -> None:
    prop = _mark_property(variant)
    if prop is None:
        seg = _seg(variant)
        prop = etree.Element(seg.tag.removesuffix("seg") + "prop", attrib={"type": _MARK_TYPE})
        prop.tail = variant.text
        seg.addprevious(prop)
    prop.text = mark


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
