"""XLIFF 1.2 and 2.x documents: add a target, marked as not reviewed, to each untranslated unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from lxml import etree

from dragoman.documents.declared_languages import DeclaredLanguages, parse_declared_code
from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.xml.mixed_content import (
    InlineRole,
    clear_element,
    fill_element,
    insert_after,
    is_nested,
    read_mixed_content,
)
from dragoman.documents.xml.safe_parser import local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.characters import has_letters

__all__ = ["read_xliff"]

_UNITS = ("trans-unit", "segment")
_CONTAINERS = {"g", "mrk", "pc"}
_UNTRANSLATED = {"new", "needs-translation", "initial"}
_UNREVIEWED = {"trans-unit": "needs-review-translation", "segment": "translated"}
"""XLIFF 2.x has no state for machine translation; "translated" precedes "reviewed"."""
_LANGUAGES_1, _LANGUAGES_2 = ("source-language", "target-language"), ("srcLang", "trgLang")


def read_xliff(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an XLIFF file; units that are translated or marked as untranslatable stay unchanged."""
    return _Xliff(name, data, limits)


@dataclass
class _Unit:
    element: Any
    source: Any
    """Element that is copied to the target: `source`, or `seg-source` if it has sentences."""
    target: Any
    texts: list[tuple[int, InlineText]]
    """Translatable texts: the source itself (-1), or its sentences by their index among the elements of the source."""


class _Xliff:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self.name = name
        self._data = data
        self._limits = limits
        root = self._parse().getroot()
        if local_name(root) != "xliff":
            raise DataError(f"{name} must be XLIFF, got XML with the root {local_name(root)[:40]!r}; check the suffix")
        segments: list[TaggedText] = []
        attributes = _LanguageAttributes(root)
        pending: dict[Any, None] = {}  # in file order
        for unit in _units(root, limits):
            segments += (inline.tagged for _, inline in unit.texts)
            pending[attributes.find(unit.element)] = None
        self.segments = tuple(segments)
        done = Counter(attributes.find(element) for element in _translated_units(root))
        self.declared = tuple(attributes.declared(each, done[each]) for each in pending if each is not None)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        changed_segments(self.segments, translated)
        if not translated:
            return self._data
        tree = self._parse()
        new = iter(translated)
        attributes = _LanguageAttributes(tree.getroot())
        changed: set[Any] = set()
        for unit in list(_units(tree.getroot(), DocumentLimits(self.name))):
            _write_unit(unit, [next(new) for _ in unit.texts])
            changed.add(attributes.find(unit.element))
        for holder in changed - {None}:
            holder.set(attributes.target, language)
        return serialize_xml(tree, self._data)

    def _parse(self) -> Any:
        return parse_xml(self.name, self._data, self._limits, doctype=True)


class _LanguageAttributes:
    """Where languages are declared: attributes of the root in XLIFF 2.x, of each `file` in 1.2."""

    def __init__(self, root: Any) -> None:
        self._root = root if root.get("version", "").startswith("2") else None
        self._source, self.target = _LANGUAGES_1 if self._root is None else _LANGUAGES_2
        self._known: dict[Any, Any] = {}

    def find(self, element: Any) -> Any:
        """Return the element that declares the languages of another; None if there is none."""
        if self._root is not None or element is None or local_name(element) == "file":
            return element if self._root is None else self._root
        parent = element.getparent()
        if parent not in self._known:
            self._known[parent] = self.find(parent)
        return self._known[parent]

    def declared(self, holder: Any, translations: int) -> DeclaredLanguages:
        """Return the languages that an element declares, with the number of translations."""
        source, target = (parse_declared_code(holder.get(name, "")) for name in (self._source, self.target))
        return DeclaredLanguages(source, target, translations)


def _units(root: Any, limits: DocumentLimits) -> Iterator[_Unit]:
    """Yield the units with text to translate, and count their texts."""
    for element, parts in _translatable_units(root):
        source, target = parts["source"], parts.get("target")
        if not _is_pending(element, target):
            continue
        cut = parts.get("seg-source")
        sentences = [] if cut is None else list(_outermost_sentences(cut))
        source = cut if cut is not None and sentences else source
        elements = list(source.iter())
        places = [(place, elements[place]) for place in sentences] or [(-1, source)]
        texts = []
        for place, text in places:
            inline = read_mixed_content(text, _role_of, limits)
            if inline is not None and inline.tagged.has_words:
                limits.add(inline.tagged)
                texts.append((place, inline))
        if texts:
            yield _Unit(element, source, target, texts)


def _translated_units(root: Any) -> Iterator[Any]:
    """Yield the units with a translation that stays; a copy of the source is none."""
    for element, parts in _translatable_units(root):
        target = parts.get("target")
        if target is not None and not _is_pending(element, target):
            text = _translatable_text(target)
            if has_letters(text) and text != _translatable_text(parts["source"]):
                yield element


def _translatable_units(root: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the units with a source that may be translated, and their children by name."""
    inherited: dict[Any, str] = {}
    nested: dict[Any, bool] = {}
    for element in root.iter(*(f"{{*}}{name}" for name in _UNITS)):
        if is_nested(element, _UNITS, nested):
            continue  # a copy of the outer unit has a copy of it: copies of copies would fill the memory
        parts = {local_name(child): child for child in reversed(element) if local_name(child)}
        if "source" in parts and _translate(element, inherited) != "no":
            yield element, parts


def _translatable_text(element: Any) -> str:
    """Return the text without that of placeholders and native codes, and with single spaces."""
    parts = [element.text or ""]
    holders = {element}
    for child in element.iterdescendants():
        if child.getparent() in holders:
            if local_name(child) in _CONTAINERS:
                holders.add(child)
                parts.append(child.text or "")
            parts.append(child.tail or "")
    return " ".join("".join(parts).split())


def _text(element: Any) -> str:
    return "".join(element.itertext()).strip()


def _translate(element: Any, inherited: dict[Any, str]) -> str:
    """Return the attribute `translate` of an element or its nearest ancestor; `inherited` caches those of parents."""
    own = element.get("translate")
    parent = element.getparent()
    if own or parent is None:
        return own or ""
    if parent not in inherited:
        inherited[parent] = _translate(parent, inherited)
    return inherited[parent]


def _outermost_sentences(cut: Any) -> Iterator[int]:
    """Yield the indices of the sentences among the elements of a source, without those inside another sentence."""
    inside: set[Any] = set()
    for place, element in enumerate(list(cut.iter())):
        if element.getparent() in inside:
            inside.add(element)
        elif place and _is_sentence(element):
            inside.add(element)
            yield place


def _is_pending(element: Any, target: Any) -> bool:
    if element.get("approved") == "yes":
        return False
    holder = element if local_name(element) == "segment" else target
    state = None if holder is None else holder.get("state")
    has_text = target is not None and (_text(target) or len(target))
    return not has_text or state in _UNTRANSLATED


def _is_sentence(mark: Any) -> bool:
    return local_name(mark) == "mrk" and mark.get("mtype") == "seg"


def _role_of(element: Any) -> InlineRole | str:
    if not isinstance(element.tag, str):
        return InlineRole.IGNORED
    return InlineRole.CONTAINER if local_name(element) in _CONTAINERS else InlineRole.STANDALONE


def _is_standalone(element: Any) -> bool:
    return local_name(element) not in _CONTAINERS


def _write_unit(unit: _Unit, translated: Sequence[TaggedText]) -> None:
    target = unit.target
    kind = local_name(unit.element)
    if target is None:
        space = etree.QName(unit.element).namespace
        target = etree.Element(f"{{{space}}}target" if space else "target", nsmap=unit.element.nsmap)
        sources = [child for child in unit.element if local_name(child) in {"source", "seg-source"}]
        insert_after(sources[-1], target)
    clear_element(target)
    target.text = unit.source.text
    target.extend(deepcopy(child) for child in unit.source)
    elements = list(target.iter())
    for (place, inline), tagged in zip(unit.texts, translated, strict=True):
        holder = elements[place] if place >= 0 else target
        clear_element(holder)
        fill_element(holder, inline.tree(tagged), is_copy=True, is_empty=_is_standalone)
    stated = target if kind == "trans-unit" else unit.element
    stated.set("state", _UNREVIEWED[kind])
