"""OpenDocument text documents (odt): text, tables, notes, comments, headers and footers, edited in place."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.office.archive import Archive
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
_MIMETYPE = b"application/vnd.oasis.opendocument.text"
_MANIFEST = "META-INF/manifest.xml"
_PARTS = ("content.xml", "styles.xml")
_CONTAINERS = {"span", "a", "meta"}
_MARKERS = ("alphabetical-index-mark", "bookmark", "change", "reference-mark", "toc-mark", "user-index-mark")
"""Beginnings of the names of elements that are not visible: white space is collapsed across them."""
_MAX_SPACES = 100
_BLANKS = re.compile(r"[ \t\r\n]+")
_SPACES = re.compile("( +)")
_DELETED = etree.XPath(
    "descendant::t:tracked-changes[not(ancestor::t:tracked-changes)]//*[self::t:p or self::t:h]",
    namespaces={"t": _TEXT},
)
"""Paragraphs in tracked changes, which are no longer part of the text."""


def read_odt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an OpenDocument text document."""
    return _OpenDocument(name, data, limits)


class _OpenDocument:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._archive = Archive(name, data)
        self._limits = limits
        self._check()
        self._segments = {
            part: [limits.add(inline.tagged) for _, inline in self._texts(part)[2]]
            for part in _PARTS
            if part in self._archive.names
        }

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

    def _check(self) -> None:
        name = self._archive.name
        kind = self._archive.read("mimetype") if "mimetype" in self._archive.names else b""
        if not kind.startswith(_MIMETYPE) or "content.xml" not in self._archive.names:
            raise DataError(f"{name} is an archive, but not an OpenDocument text; check the suffix")
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
                fill_element(paragraph, nodes, is_copy=False, is_empty=_is_standalone, add_text=_SpacedText())
        return serialize_xml(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, InlineText]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original, self._limits)
        return tree, original, _translatable(tree.getroot(), self._limits)


def _translatable(root: Any, limits: DocumentLimits) -> Iterator[tuple[Any, InlineText]]:
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
            if inline is not None and inline.tagged.has_words:
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
