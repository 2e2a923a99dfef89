"""OpenDocument files (odt, ods, odp): text, tables, slides, notes, comments, headers and footers, edited in place."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lxml import etree

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.office.archive import Archive
from dragoman.documents.office.referred_texts import ReferredTexts
from dragoman.documents.xml.mixed_content import (
    InlineRole,
    append_text,
    clear_element,
    fill_element,
    read_mixed_content,
)
from dragoman.documents.xml.safe_parser import local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_CALC = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_MIMETYPE = "application/vnd.oasis.opendocument."
_MANIFEST = "META-INF/manifest.xml"
_PARTS = {
    "text": ("an OpenDocument text", ("content.xml", "styles.xml")),
    "spreadsheet": ("an OpenDocument spreadsheet", ("content.xml", "styles.xml")),
    "presentation": ("an OpenDocument presentation", ("content.xml",)),  # the texts of styles are prompts of masters
}
"""What a file is called in errors, and its parts with text, by the end of its media type."""
_CELLS = {f"{{{_TABLE}}}table-cell", f"{{{_TABLE}}}covered-table-cell"}
_FORMULAS = tuple(f"{{{_TABLE}}}{name}" for name in ("formula", "condition", "expression"))
_NAMES = tuple(f"{{{_TABLE}}}{name}" for name in ("value", "source-field-name"))
_STRING_VALUE = f"{{{_OFFICE}}}string-value"
_CONTAINERS = {"span", "a", "meta"}
_MARKERS = ("alphabetical-index-mark", "bookmark", "change", "reference-mark", "toc-mark", "user-index-mark")
"""Beginnings of the names of elements that are not visible: white space is collapsed across them."""
_MAX_SPACES = 100
_BLANKS = re.compile(r"[ \t\r\n]+")
_SPACES = re.compile("( +)")
_DELETED = etree.XPath(
    "(descendant::t:tracked-changes[not(ancestor::t:tracked-changes)] | descendant::b:tracked-changes)"
    "//*[self::t:p or self::t:h]",
    namespaces={"t": _TEXT, "b": _TABLE},
)
"""Paragraphs in tracked changes, which are no longer part of the text."""


def read_odt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an OpenDocument text document."""
    return _OpenDocument(name, data, "text", limits)


def read_ods(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an OpenDocument spreadsheet; numbers, formulas and texts to which formulas refer stay."""
    return _OpenDocument(name, data, "spreadsheet", limits)


def read_odp(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an OpenDocument presentation: slides and their notes."""
    return _OpenDocument(name, data, "presentation", limits)


class _OpenDocument:
    def __init__(self, name: str, data: bytes, kind: str, limits: DocumentLimits) -> None:
        self.name = name
        self._archive = Archive(name, data)
        self._limits = limits
        self._check(kind)
        self._referred = ReferredTexts(limits)
        self._is_sheet = kind == "spreadsheet"
        if self._is_sheet and "styles.xml" in self._archive.names:
            self._texts("styles.xml")  # its formats refer to cells of the other part
        self._segments = {
            part: [limits.add(inline.tagged) for _, inline in self._texts(part)[2]]
            for part in _PARTS[kind][1]
            if part in self._archive.names
        }
        self.notes = self._referred.notes

    @property
    def segments(self) -> tuple[TaggedText, ...]:
        return tuple(tagged for some in self._segments.values() for tagged in some)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        changes = iter(changed_segments(self.segments, translated))
        changed: dict[str, bytes] = {}
        for part, segments in self._segments.items():
            new = [next(changes) for _ in segments]
            if any(some is not None for some in new):
                changed[part] = self._write_part(part, new)
        return self._archive.write(changed)

    def _check(self, expected: str) -> None:
        name = self._archive.name
        kind = self._archive.read("mimetype") if "mimetype" in self._archive.names else b""
        if not kind.startswith(f"{_MIMETYPE}{expected}".encode()) or "content.xml" not in self._archive.names:
            raise DataError(f"{name} is an archive, but not {_PARTS[expected][0]}; check the suffix")
        if _MANIFEST in self._archive.names:
            content = self._archive.read(_MANIFEST)
            manifest = parse_xml(f"{name}: {_MANIFEST}", content, self._limits, doctype=True)
            if any(local_name(element) == "encryption-data" for element in manifest.iter()):
                raise DataError(f"{name} is encrypted; save it without a password")

    def _write_part(self, part: str, new: Sequence[TaggedText | None]) -> bytes:
        tree, original, texts = self._texts(part)
        for (paragraph, inline), tagged in zip(list(texts), new, strict=True):
            if tagged is not None:
                nodes = inline.tree(tagged)
                clear_element(paragraph)
                paragraph.getparent().attrib.pop(_STRING_VALUE, None)  # the text counts without it
                fill_element(paragraph, nodes, is_copy=False, is_empty=_is_standalone, add_text=_SpacedText())
        return serialize_xml(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, InlineText]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original, self._limits)
        stays = _Cells(tree.getroot(), self._referred).stays if self._is_sheet else lambda *_: False
        return tree, original, _translatable(tree.getroot(), stays, self._limits)


class _Cells:
    """Cells of a spreadsheet that stay: numbers, results of formulas, and texts to which formulas refer."""

    def __init__(self, root: Any, referred: ReferredTexts) -> None:
        self._referred = referred
        for element in root.iter(f"{{{_TABLE}}}*"):
            for name in _FORMULAS:
                if formula := element.get(name):
                    referred.add_formula(formula)
            referred.add(element.get(name, "") for name in _NAMES)
        for element in root.iter(f"{{{_CALC}}}condition", f"{{{_STYLE}}}map"):  # of a format
            referred.add_formula(element.get(f"{{{_CALC}}}value") or element.get(f"{{{_STYLE}}}condition", ""))

    def stays(self, paragraph: Any, text: str) -> bool:
        cell = paragraph.getparent()
        if cell is None or cell.tag not in _CELLS:
            return False
        is_text = cell.get(f"{{{_OFFICE}}}value-type", "string") == "string" and cell.get(_FORMULAS[0]) is None
        return not is_text or self._referred.stays(text)


def _translatable(
    root: Any, stays: Callable[[Any, str], bool], limits: DocumentLimits
) -> Iterator[tuple[Any, InlineText]]:
    invisible = _invisible_styles(root)

    def role_of(element: Any) -> InlineRole | str:
        if element.tag == f"{{{_TEXT}}}s":
            return " " * min(_count(element), _MAX_SPACES)
        if not isinstance(element.tag, str) or element.tag == f"{{{_TEXT}}}soft-page-break":
            return InlineRole.IGNORED
        if _is_standalone(element):
            if _is_marker(element):
                return InlineRole.MARKER
            return InlineRole.BREAK if local_name(element) in {"tab", "line-break"} else InlineRole.STANDALONE
        if local_name(element) == "span" and element.get(f"{{{_TEXT}}}style-name") in invisible:
            return InlineRole.TRANSPARENT
        return InlineRole.CONTAINER

    deleted = set(_DELETED(root))
    for paragraph in list(root.iter(f"{{{_TEXT}}}p", f"{{{_TEXT}}}h")):
        if paragraph not in deleted:
            inline = read_mixed_content(paragraph, role_of, limits, _CollapsedSpaces())
            if inline is not None and inline.tagged.has_words and not stays(paragraph, inline.tagged.text):
                yield paragraph, inline


class _CollapsedSpaces:
    """Collapse white space as OpenDocument does: to one space, and to none at the beginning.

    Spaces on both sides of a field, a note or a tab are not adjacent.
    """

    def __init__(self) -> None:
        self._is_after_space = True

    def __call__(self, text: str, is_explicit: bool) -> str:
        if is_explicit:
            self._is_after_space = False
            return text
        collapsed = _BLANKS.sub(" ", text)
        if self._is_after_space:
            collapsed = collapsed.removeprefix(" ")
        if text:
            self._is_after_space = collapsed.endswith(" ") or (not collapsed and self._is_after_space)
        return collapsed


def _count(spaces: Any) -> int:
    written = spaces.get(f"{{{_TEXT}}}c", "1")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 9 else 1


def _is_standalone(element: Any) -> bool:
    """Whether an element contains no text of its paragraph: a field, note, picture or break."""
    tag = element.tag
    return not (isinstance(tag, str) and tag.startswith(f"{{{_TEXT}}}") and local_name(element) in _CONTAINERS)


def _is_marker(element: Any) -> bool:
    return element.tag.startswith(f"{{{_TEXT}}}") and local_name(element).startswith(_MARKERS)


def _invisible_styles(root: Any) -> set[str]:
    """Return the automatic styles that only record an editing session."""
    invisible = set()
    for style in root.iter(f"{{{_STYLE}}}style"):
        settings = list(style)
        is_plain = style.get(f"{{{_STYLE}}}family") == "text" and f"{{{_STYLE}}}parent-style-name" not in style.attrib
        if is_plain and all(not len(part) and all("rsid" in key for key in part.attrib) for part in settings):
            invisible.add(style.get(f"{{{_STYLE}}}name", ""))
    return invisible


class _SpacedText:
    """Write text and preserve its spaces: the first of a row is a character, the others are elements."""

    def __init__(self) -> None:
        self._is_after_space = True

    def __call__(self, parent: Any, text: str) -> None:
        last = next(parent.iterchildren(reversed=True), None)
        if last is not None and not last.tail and _is_standalone(last) and not _is_marker(last):
            self._is_after_space = False
        written: list[str] = []  # one call per text: appending to a text copies it
        for fragment in _SPACES.split(text):
            if not fragment.startswith(" "):
                written.append(fragment)
                self._is_after_space = self._is_after_space and not fragment
                continue
            more = len(fragment) - (not self._is_after_space)
            written.append("" if self._is_after_space else " ")
            if more:
                append_text(parent, "".join(written))
                written.clear()
                spaces = etree.SubElement(parent, f"{{{_TEXT}}}s")
                spaces.set(f"{{{_TEXT}}}c", str(more))
            self._is_after_space = not more
        append_text(parent, "".join(written))
