"""odt: paragraphs and headings of the text, its tables, notes, comments, headers and footers, edited in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from dragoman.documents.archive import Archive
from dragoman.documents.document import Document, paired
from dragoman.documents.inline import Inline
from dragoman.documents.mixed_content import Role, append_text, clear, fill, read_mixed
from dragoman.documents.safe_xml import local_name, parse_xml, serialized
from dragoman.errors import DataError
from dragoman.markup.marked import Marked

__all__ = ["read_odt"]

_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
_MIMETYPE = b"application/vnd.oasis.opendocument.text"
_MANIFEST = "META-INF/manifest.xml"
_PARTS = ("content.xml", "styles.xml")
_HOLDING = {"span", "a", "meta"}
_MOST_SPACES = 100
_BLANKS = re.compile(r"[ \t\r\n]+")
_SPACES = re.compile("( +)")


def read_odt(name: str, data: bytes) -> Document:
    """A text document of OpenDocument."""
    return _OpenDocument(name, data)


class _OpenDocument:
    def __init__(self, name: str, data: bytes) -> None:
        self._archive = Archive(name, data)
        self._check()
        self._segments = {
            part: [inline.marked for _, inline in self._texts(part)[2]]
            for part in _PARTS
            if part in self._archive.names
        }

    @property
    def segments(self) -> tuple[Marked, ...]:
        return tuple(marked for some in self._segments.values() for marked in some)

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        changes = iter(paired(self.segments, translated))
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
            raise DataError(f"{name} must be an OpenDocument text, got an archive of something else; check the suffix")
        if _MANIFEST in self._archive.names:
            manifest = parse_xml(f"{name}: {_MANIFEST}", self._archive.read(_MANIFEST), doctype=True)
            if any(local_name(element) == "encryption-data" for element in manifest.iter()):
                raise DataError(f"{name} must not be encrypted, got a password on it; save it without one")

    def _write_part(self, part: str, new: Sequence[Marked | None]) -> bytes:
        tree, original, texts = self._texts(part)
        for (paragraph, inline), marked in zip(list(texts), new, strict=True):
            if marked is not None:
                nodes = inline.tree(marked)
                clear(paragraph)
                fill(paragraph, nodes, is_copy=False, is_empty=_stands, add_text=_SpacedText())
        return serialized(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, Inline]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original)
        return tree, original, _translatable(tree.getroot())


def _translatable(root: Any) -> Iterator[tuple[Any, Inline]]:
    unseen = _unseen_styles(root)

    def role_of(element: Any) -> Role | str:
        if element.tag == f"{{{_TEXT}}}s":
            return " " * min(_count(element), _MOST_SPACES)
        if not isinstance(element.tag, str) or element.tag == f"{{{_TEXT}}}soft-page-break":
            return Role.IS_NOTHING
        if _stands(element):
            return Role.BREAKS if local_name(element) in {"tab", "line-break"} else Role.STANDS
        if local_name(element) == "span" and element.get(f"{{{_TEXT}}}style-name") in unseen:
            return Role.SHOWS_NOTHING
        return Role.HOLDS

    deleted = {
        paragraph
        for changes in root.iter(f"{{{_TEXT}}}tracked-changes")
        for paragraph in changes.iter(f"{{{_TEXT}}}p", f"{{{_TEXT}}}h")
    }
    for paragraph in list(root.iter(f"{{{_TEXT}}}p", f"{{{_TEXT}}}h")):
        if paragraph not in deleted:
            inline = read_mixed(paragraph, role_of, _Squeezed())
            if inline.marked.has_words:
                yield paragraph, inline


class _Squeezed:
    """White space as OpenDocument means it: any amount is one space, and none is meant at the beginning."""

    def __init__(self) -> None:
        self._is_after_space = True

    def __call__(self, text: str, is_meant: bool) -> str:
        if is_meant:
            self._is_after_space = False
            return text
        squeezed = _BLANKS.sub(" ", text)
        if self._is_after_space:
            squeezed = squeezed.removeprefix(" ")
        if text:
            self._is_after_space = squeezed.endswith(" ") or (not squeezed and self._is_after_space)
        return squeezed


def _count(spaces: Any) -> int:
    written = spaces.get(f"{{{_TEXT}}}c", "1")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 9 else 1


def _stands(element: Any) -> bool:
    """Fields, notes, pictures, breaks: all but what formats or links text."""
    tag = element.tag
    return not (isinstance(tag, str) and tag.startswith(f"{{{_TEXT}}}") and local_name(element) in _HOLDING)


def _unseen_styles(root: Any) -> set[str]:
    """Automatic styles that only say in which session of editing a text came."""
    unseen = set()
    for style in root.iter(f"{{{_STYLE}}}style"):
        settings = list(style)
        is_plain = style.get(f"{{{_STYLE}}}family") == "text" and f"{{{_STYLE}}}parent-style-name" not in style.attrib
        if is_plain and all(not len(part) and all("rsid" in key for key in part.attrib) for part in settings):
            unseen.add(style.get(f"{{{_STYLE}}}name", ""))
    return unseen


class _SpacedText:
    """Writes text so that each of its spaces counts: one in a row is a space, the others are elements."""

    def __init__(self) -> None:
        self._is_after_space = True

    def __call__(self, parent: Any, text: str) -> None:
        for piece in _SPACES.split(text):
            if not piece.startswith(" "):
                append_text(parent, piece)
                self._is_after_space = self._is_after_space and not piece
                continue
            more = len(piece) - (not self._is_after_space)
            append_text(parent, "" if self._is_after_space else " ")
            if more:
                spaces = etree.SubElement(parent, f"{{{_TEXT}}}s")
                spaces.set(f"{{{_TEXT}}}c", str(more))
            self._is_after_space = not more
