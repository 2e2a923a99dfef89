"""docx and pptx: the parts that hold text are edited in place, all others are copied.

`python-docx` and `python-pptx` keep most of a file, but not its order and compression, read what they are given without
limits, and know nothing of text boxes or footnotes; so the XML itself is edited, and only where text stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from dragoman.documents import slides, word
from dragoman.documents.archive import Archive
from dragoman.documents.document import Document, paired
from dragoman.documents.inline import Inline
from dragoman.documents.runs import Group, RunWriter, inline_of
from dragoman.documents.safe_xml import local_name, parse_xml, serialized
from dragoman.errors import DataError
from dragoman.markup.marked import Marked

__all__ = ["read_docx", "read_pptx"]

_TYPES = "[Content_Types].xml"
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class _Kind:
    name: str
    main: re.Pattern[str]
    """The content type of the part that makes a file one of this kind."""
    parts: re.Pattern[str]
    """The content types of the parts with text, in the order they are read in."""
    dialect: ModuleType


_DOCX = _Kind(
    "a Word document",
    re.compile(r"word\w*\.(document|template)\.(macroEnabled\w*\.)?main\+xml$", re.IGNORECASE),
    re.compile(r"(\.main|header|footer|footnotes|endnotes|wordprocessingml\.comments)\+xml$"),
    word,
)
_PPTX = _Kind(
    "a PowerPoint presentation",
    re.compile(r"(presentation|slideshow|template)\.(macroEnabled\w*\.)?main\+xml$", re.IGNORECASE),
    re.compile(r"(presentationml\.slide|notesSlide|diagramData|diagramDrawing)\+xml$"),
    slides,
)


def read_docx(name: str, data: bytes) -> Document:
    """A Word document: its text, tables, headers, footers, notes, comments and text boxes."""
    return _OfficeOpen(name, data, _DOCX)


def read_pptx(name: str, data: bytes) -> Document:
    """A presentation: its slides, their notes, tables, groups and diagrams."""
    return _OfficeOpen(name, data, _PPTX)


class _OfficeOpen:
    def __init__(self, name: str, data: bytes, kind: _Kind) -> None:
        self._archive = Archive(name, data)
        self._dialect: Any = kind.dialect
        self._parts = self._find_parts(kind)
        self._segments: dict[str, list[Marked]] = {}
        for part in self._parts:
            _, _, texts = self._texts(part)
            self._segments[part] = [inline.marked for _, _, inline in texts]

    @property
    def segments(self) -> tuple[Marked, ...]:
        return tuple(marked for part in self._parts for marked in self._segments[part])

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        changes = iter(paired(self.segments, translated))
        changed: dict[str, bytes] = {}
        for part in self._parts:
            new = [next(changes) for _ in self._segments[part]]
            if any(some is not None for some in new):
                changed[part] = self._write_part(part, new)
        return self._archive.write(changed)

    def _write_part(self, part: str, new: Sequence[Marked | None]) -> bytes:
        tree, original, texts = self._texts(part)
        writer = RunWriter(self._dialect.make_run)
        for (paragraph, group, inline), marked in zip(list(texts), new, strict=True):
            if marked is not None:
                writer.write(paragraph, group, inline.tree(marked), self._dialect.is_kept)
        return serialized(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, Group, Inline]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original)
        return tree, original, _translatable(tree, self._dialect.paragraphs, self._dialect.paragraph_group)

    def _find_parts(self, kind: _Kind) -> list[str]:
        name = self._archive.name
        if _TYPES not in self._archive.names:
            raise DataError(f"{name} must be {kind.name}, got an archive of something else; check the suffix")
        types = parse_xml(f"{name}: {_TYPES}", self._archive.read(_TYPES)).getroot()
        listed = {
            entry.get("PartName", "").removeprefix("/"): entry.get("ContentType", "")
            for entry in types
            if local_name(entry) == "Override"
        }
        mains = [part for part, type_ in listed.items() if kind.main.search(type_)]
        if not mains or not self._archive.names.issuperset(mains):
            raise DataError(f"{name} must be {kind.name}, got an archive of something else; check the suffix")
        parts = {part for part, type_ in listed.items() if part in self._archive.names and kind.parts.search(type_)}
        return sorted(parts, key=partial(_reading_order, mains[0]))


def _reading_order(main: str, part: str) -> tuple[bool, list[str | int]]:
    """The main part first; slide 2 before slide 10."""
    return part != main, [int(piece) if piece.isdecimal() else piece for piece in _NUMBER.split(part)]


def _translatable(
    tree: Any, paragraphs: Callable[[Any], Iterator[Any]], group_of: Callable[[Any], Group]
) -> Iterator[tuple[Any, Group, Inline]]:
    for paragraph in list(paragraphs(tree.getroot())):
        group = group_of(paragraph)
        if group.items and group.is_movable:
            inline = inline_of(group)
            if inline.marked.has_words:
                yield paragraph, group, inline
