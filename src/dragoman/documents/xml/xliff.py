"""XLIFF 1.2 and 2.x documents: add a target, marked as not reviewed, to each untranslated unit.

The mark of `translation_marks` is in an attribute that the standard provides for tools: `extradata` of a unit in 1.2,
`subState` of a segment in 2.x, which a tool has to remove when it changes the state.

The dialects of Trados (sdlxliff) and memoQ (mqxliff) are XLIFF 1.2 with states of their own: Trados has them by
sentence, in `seg-defs`, memoQ in attributes of the unit. Locked sentences and units stay.

A translation from a memory has the unit and its score next to it: `alt-trans` with `match-quality` in 1.2, a `match` of
the module Translation Candidates in 2.x, `origin` and `percent` of Trados.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from lxml import etree

from dragoman.documents.document import DeclaredLanguages, Document, changed_segments, parse_declared_code, target_tag
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.translation_marks import EarlierTranslation, UnreviewedCount, find_mark
from dragoman.documents.xml.mixed_content import (
    InlineRole,
    clear_element,
    content_key,
    fill_element,
    insert_after,
    is_nested,
    read_mixed_content,
)
from dragoman.documents.xml.safe_parser import local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import Remembered, TaggedText
from dragoman.text.characters import has_letters

_UNITS = ("trans-unit", "segment")
_CONTAINERS = {"g", "mrk", "pc"}
_ITS_TRANSLATE = "{http://www.w3.org/2005/11/its}translate"
_UNTRANSLATED = {"new", "needs-translation", "initial"}
_CONFIRMED = {"final", "reviewed", "signed-off"}
_UNREVIEWED = {"trans-unit": "needs-review-translation", "segment": "translated"}
"""XLIFF 2.x has no state for machine translation; "translated" precedes "reviewed"."""
_MARK_ATTRIBUTES = {"trans-unit": "extradata", "segment": "subState"}
_MEMOQ = "{MQXliff}"
_LOCKED = {"locked", "true", "1"}
_CONFIRMED_BY_TOOLS = ("Confirmed", "Proofread", "Translated", "Approved")
"""Beginnings or ends of states of memoQ and Trados."""
_DRAFTS = {"conf": "Draft", "origin": "mt", "origin-system": "dragoman"}
_MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
_SAME = 100  # score of the same text
_LANGUAGES_1, _LANGUAGES_2 = ("source-language", "target-language"), ("srcLang", "trgLang")


def read_xliff(name: str, data: bytes, limits: DocumentLimits, *, again: bool = False) -> Document:
    """Read an XLIFF file; units that are translated or marked as untranslatable stay unchanged.

    With `again`, translations that are not reviewed are made again.
    """
    return _Xliff(name, data, limits, again=again)


def reviewed_units(name: str, data: bytes, limits: DocumentLimits) -> Iterator[tuple[str, str, str, str]]:
    """Yield languages, source and translation of the units whose translation is reviewed or of another author."""
    root = parse_xml(name, data, limits, doctype=True).getroot()
    if local_name(root) != "xliff":
        raise DataError(f"{name} must be XLIFF, got XML with the root {local_name(root)[:40]!r}; check the suffix")
    attributes = _LanguageAttributes(root)
    for element, parts, earlier in _translatable_units(root):
        if earlier.is_reviewed and not earlier.is_own and "target" in parts:
            stated = attributes.declared(attributes.find(element), 0)
            yield stated.source, stated.target, _translatable_text(parts["source"]), _translatable_text(parts["target"])


@dataclass
class _Unit:
    element: Any
    source: Any
    """Element that is copied to the target: `source`, or `seg-source` if it has sentences."""
    target: Any
    earlier: EarlierTranslation
    texts: list[tuple[int, InlineText]]
    """Translatable texts: the source itself (-1), or its sentences by their index among the elements of the source."""
    gaps: dict[str, Any]
    """Empty sentences of a target that has others, by `mid`: only these are written."""


_KnownUnit = tuple[Any, dict[str, Any], EarlierTranslation]


class _Xliff:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, again: bool) -> None:
        self.name = name
        self._data = data
        self._limits = limits
        self._again = again
        root = self._parse().getroot()
        if local_name(root) != "xliff":
            raise DataError(f"{name} must be XLIFF, got XML with the root {local_name(root)[:40]!r}; check the suffix")
        segments: list[TaggedText] = []
        attributes = _LanguageAttributes(root)
        pending: dict[Any, None] = {}  # in file order
        known = list(_translatable_units(root))
        for unit in _units(known, limits, again=again):
            segments += (inline.tagged for _, inline in unit.texts)
            pending[attributes.find(unit.element)] = None
        self.segments = tuple(segments)
        self.unreviewed = UnreviewedCount()
        done: Counter[Any] = Counter()
        for element, parts, earlier in known:
            self.unreviewed.add(earlier, again=again)
            if not any(earlier.writable(again=again)) and _has_translation(parts):
                done[attributes.find(element)] += 1
        self.declared = tuple(attributes.declared(each, done[each]) for each in pending if each is not None)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)):
            return self._data
        tree = self._parse()
        new = iter(zip(self.segments, translated, strict=True))
        attributes = _LanguageAttributes(tree.getroot())
        changed: set[Any] = set()
        known = list(_translatable_units(tree.getroot()))
        for unit in _units(known, DocumentLimits(self.name), again=self._again):
            found = [next(new) for _ in unit.texts]
            if all(old is not translation for old, translation in found):
                _write_unit(unit, [translation for _, translation in found])
                changed.add(attributes.find(unit.element))
        for holder in changed - {None}:
            holder.set(attributes.target, target_tag(holder.get(attributes.target, ""), language))
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


def _units(known: Sequence[_KnownUnit], limits: DocumentLimits, *, again: bool) -> Iterator[_Unit]:
    """Yield the units with text to translate, and count their texts."""
    for element, parts, earlier in known:
        is_new = any(earlier.writable(again=again))
        gaps = (
            {} if is_new or "seg-source" not in parts or _is_confirmed(element, parts) else _gaps(parts.get("target"))
        )
        if not is_new and not gaps:
            continue
        source, cut = parts["source"], parts.get("seg-source")
        sentences = [] if cut is None else list(_outermost_sentences(cut))
        source = cut if cut is not None and sentences else source
        elements = list(source.iter())
        segments = _sentence_states(element)
        places = [(place, elements[place]) for place in sentences] or [(-1, source)]
        texts = []
        for place, text in places:
            mid = text.get("mid")
            is_done = (bool(gaps) and mid not in gaps) or (mid in segments and _is_locked(segments[mid]))
            inline = None if is_done or _is_protected(text) else read_mixed_content(text, _role_of, limits)
            if inline is not None and inline.tagged.has_words:
                limits.add(inline.tagged)
                texts.append((place, inline))
        if texts:
            yield _Unit(element, source, parts.get("target"), earlier, texts, gaps)


def _earlier_translation(element: Any, parts: dict[str, Any]) -> EarlierTranslation:
    """Return the translation that a unit has; a copy of the source in an untranslated state is none."""
    kind, source, target = local_name(element), parts["source"], parts.get("target")
    holder = element if kind == "segment" else target
    state = "" if holder is None else holder.get("state", "")
    mark = find_mark(element.get(_MARK_ATTRIBUTES[kind], ""))
    is_open = state in _UNTRANSLATED or (state == _UNREVIEWED[kind] and (kind == "trans-unit" or bool(mark)))
    is_confirmed = _is_confirmed(element, parts)
    has_text = target is not None and bool(_text(target) or len(target))
    is_copy = has_text and not mark and state in _UNTRANSLATED and not _has_translation(parts)
    form = content_key(target) if has_text and not is_copy else "" if not is_confirmed else "confirmed to be empty"
    is_confirmed = is_confirmed or any(
        _is_locked(each) or each.get("conf", "").startswith(_CONFIRMED_BY_TOOLS)
        for each in _sentence_states(element).values()
    )
    return EarlierTranslation(content_key(source), (form,), mark, is_confirmed or not is_open)


def _sentence_states(element: Any) -> dict[str, Any]:
    """Return the elements of Trados with the states of the sentences of a unit, by their `mid`."""
    return {each.get("id", ""): each for each in element.iterfind("{*}seg-defs/{*}seg")}


def _is_locked(element: Any) -> bool:
    """Whether a unit of memoQ or a sentence of Trados is locked."""
    return (element.get("locked") or element.get(f"{_MEMOQ}locked")) in _LOCKED


def _is_confirmed(element: Any, parts: dict[str, Any]) -> bool:
    holder = element if local_name(element) == "segment" else parts.get("target")
    has_state = holder is not None and holder.get("state") in _CONFIRMED
    by_tool = element.get(f"{_MEMOQ}status", "").endswith(_CONFIRMED_BY_TOOLS)
    return element.get("approved") == "yes" or has_state or by_tool


def _gaps(target: Any) -> dict[str, Any]:
    """Return the sentences of a target that are empty."""
    sentences = [] if target is None else [each for each in target.iter() if _is_sentence(each)]
    return {each.get("mid"): each for each in sentences if each.get("mid") and not len(each) and not _text(each)}


def _has_translation(parts: dict[str, Any]) -> bool:
    """Whether a unit has a target that is no copy of the source."""
    target = parts.get("target")
    text = "" if target is None else _translatable_text(target)
    return has_letters(text) and text != _translatable_text(parts["source"])


def _translatable_units(root: Any) -> Iterator[_KnownUnit]:
    """Yield the units with a source that may be translated, their children by name, and the translation they have."""
    inherited: dict[Any, str] = {}
    nested: dict[Any, bool] = {}
    for element in root.iter(*(f"{{*}}{name}" for name in _UNITS)):
        if is_nested(element, _UNITS, nested):
            continue  # a copy of the outer unit has a copy of it: copies of copies would fill the memory
        parts = {local_name(child): child for child in reversed(element) if local_name(child)}
        is_open = "source" in parts and _translate(element, inherited) != "no" and not _is_locked(element)
        if is_open and not _has_protected_range(parts["source"]):
            yield element, parts, _earlier_translation(element, parts)


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
    own = element.get("translate") or element.get(_ITS_TRANSLATE)
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


def _is_sentence(mark: Any) -> bool:
    return local_name(mark) == "mrk" and mark.get("mtype") == "seg"


def _role_of(element: Any) -> InlineRole | str:
    if not isinstance(element.tag, str):
        return InlineRole.IGNORED
    return InlineRole.STANDALONE if _is_standalone(element) else InlineRole.CONTAINER


def _is_standalone(element: Any) -> bool:
    return local_name(element) not in _CONTAINERS or _is_protected(element)


def _is_protected(element: Any) -> bool:
    """Whether the text of an inline element must not be translated."""
    return "no" in (element.get("translate"), element.get(_ITS_TRANSLATE)) or element.get("mtype") == "protected"


def _has_protected_range(source: Any) -> bool:
    """Whether text between two markers must not be translated; such a unit is not translated."""
    return any(_is_protected(mark) for mark in source.iter("{*}sm"))


def _set_states(element: Any, written: dict[str, Remembered | None]) -> None:
    """Set the states that Trados and memoQ have of their own, of the sentences that are written."""
    for mid, each in _sentence_states(element).items():
        if mid in written:
            each.attrib.update(_DRAFTS)
            each.attrib.pop("percent", None)
            if (known := written[mid]) is not None:
                percent = str(min(known.score, _SAME))
                each.attrib.update({"origin": "tm", "origin-system": known.memory, "percent": percent})
    if element.get(f"{_MEMOQ}status"):
        element.set(f"{_MEMOQ}status", "Pretranslated")


def _write_unit(unit: _Unit, translated: Sequence[TaggedText]) -> None:
    target = unit.target
    kind = local_name(unit.element)
    segments = _sentence_states(unit.element)
    sources = list(unit.source.iter())
    mids = [sources[place].get("mid", "") if place >= 0 else "" for place, _ in unit.texts]
    _set_states(unit.element, {mid: each.remembered for mid, each in zip(mids, translated, strict=True) if mid})
    if unit.gaps:
        for (place, inline), tagged in zip(unit.texts, translated, strict=True):
            holder = unit.gaps[sources[place].get("mid")]
            clear_element(holder)
            fill_element(holder, inline.tree(tagged), is_copy=True, is_empty=_is_standalone)
        if not segments:
            target.set("state", _UNREVIEWED[kind])
        return  # without a mark: the rest is another author's
    if target is None:
        space = etree.QName(unit.element).namespace
        target = etree.Element(f"{{{space}}}target" if space else "target", nsmap=unit.element.nsmap)
        before = [child for child in unit.element if local_name(child) in {"source", "seg-source"}]
        insert_after(before[-1], target)
    clear_element(target)
    target.text = unit.source.text
    target.extend(deepcopy(child) for child in unit.source)
    elements = list(target.iter())
    locked = {mid for mid, each in segments.items() if _is_locked(each)}
    for each in filter(_is_sentence, elements if locked else ()):
        if each.get("mid") in locked:
            clear_element(each)
    for (place, inline), tagged in zip(unit.texts, translated, strict=True):
        holder = elements[place] if place >= 0 else target
        clear_element(holder)
        fill_element(holder, inline.tree(tagged), is_copy=True, is_empty=_is_standalone)
    mark = unit.earlier.new_mark([content_key(target)], [True])
    attribute = _MARK_ATTRIBUTES[kind]
    if kind == "segment":
        unit.element.set("state", _UNREVIEWED[kind])
    else:
        target.set("state", _UNREVIEWED[kind])
        scores = [0 if each.remembered is None else each.remembered.score for each in translated]
        known = "exact-match" if min(scores) >= _SAME else "fuzzy-match"
        target.set("state-qualifier", known if all(scores) else "mt-suggestion")
    if not segments:
        _add_matches(unit.element, target, mids, translated)
    if kind == "segment" or not unit.element.get(attribute) or unit.earlier.mark:
        unit.element.set(attribute, mark)


def _add_matches(element: Any, target: Any, mids: Sequence[str], translated: Sequence[TaggedText]) -> None:
    """Add the units of memories that translations are taken from; what the file has is not added again."""
    space = etree.QName(target).namespace
    for mid, each in zip(mids, translated, strict=True):
        if (known := each.remembered) is None:
            continue
        score, holder = str(min(known.score, _SAME)), element
        if local_name(element) == "trans-unit":
            added = etree.Element(etree.QName(space, "alt-trans"), {"match-quality": score, "origin": known.memory})
            added.attrib.update({"mid": mid} if mid else {})
        elif element.get("id"):
            holder = element.getparent().find(f"{{{_MATCHES}}}matches")
            if holder is None:
                holder = etree.Element(f"{{{_MATCHES}}}matches", nsmap={"mtc": _MATCHES})
                element.getparent().insert(0, holder)
            added = etree.Element(f"{{{_MATCHES}}}match", {"ref": f"#{element.get('id')}", "type": "tm"})
            added.attrib.update({"matchQuality": score, "origin": known.memory})
        else:
            continue  # a match could not refer to it
        for name, text in (("source", known.source), ("target", known.text)):
            etree.SubElement(added, etree.QName(space, name)).text = text
        written = [_canonical(each) for each in holder.iterchildren(added.tag)]
        if _canonical(added) not in written and holder is element:
            insert_after(target, added)
        elif _canonical(added) not in written:
            holder.append(added)


def _canonical(element: Any) -> bytes:
    return bytes(etree.tostring(element, method="c14n", exclusive=True, with_tail=False))
