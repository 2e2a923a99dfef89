"""Office Open XML documents (docx, pptx): edit the XML files with text in place and copy all other files.

`python-docx` and `python-pptx` are not used: they change the order and compression of the parts, read archives without
limits, and do not support text boxes or footnotes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.office import drawingml as slides
from dragoman.documents.office import wordprocessingml as word
from dragoman.documents.office.archive import Archive
from dragoman.documents.office.runs import RunGroup, RunWriter, group_text
from dragoman.documents.xml.safe_parser import local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

_MAX_ELEMENTS = 100_000
_TYPES = "[Content_Types].xml"
_NUMBER = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class _Kind:
    name: str
    main: re.Pattern[str]
    """Content type of the main part."""
    parts: re.Pattern[str]
    """Content types of the parts with text."""
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


def read_docx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a Word document: text, tables, headers, footers, notes, comments and text boxes."""
    return _OfficeOpenXml(name, data, _DOCX, limits)


def read_pptx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a presentation: slides, notes, tables, groups and diagrams."""
    return _OfficeOpenXml(name, data, _PPTX, limits)


class _OfficeOpenXml:
    def __init__(self, name: str, data: bytes, kind: _Kind, limits: DocumentLimits) -> None:
        self._archive = Archive(name, data)
        self._limits = limits
        self._dialect: Any = kind.dialect
        self._parts = self._find_parts(kind)
        self._segments: dict[str, list[TaggedText]] = {}
        for part in self._parts:
            _, _, texts = self._texts(part)
            self._segments[part] = [limits.add(inline.tagged) for _, _, inline in texts]

    @property
    def segments(self) -> tuple[TaggedText, ...]:
        return tuple(tagged for part in self._parts for tagged in self._segments[part])

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        changes = iter(changed_segments(self.segments, translated))
        changed: dict[str, bytes] = {}
        for part in self._parts:
            new = [next(changes) for _ in self._segments[part]]
            if any(some is not None for some in new):
                changed[part] = self._write_part(part, new)
        return self._archive.write(changed)

    def _write_part(self, part: str, new: Sequence[TaggedText | None]) -> bytes:
        tree, original, texts = self._texts(part)
        writer = RunWriter(self._dialect.make_run)
        for (paragraph, group, inline), tagged in zip(list(texts), new, strict=True):
            if tagged is not None:
                writer.write(paragraph, group, inline.tree(tagged), self._dialect.fixed_position)
        return serialize_xml(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, RunGroup, InlineText]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original, self._limits)
        dialect = self._dialect
        return tree, original, _translatable(tree, dialect.paragraphs, dialect.paragraph_group, self._limits)

    def _find_parts(self, kind: _Kind) -> list[str]:
        name = self._archive.name
        if _TYPES not in self._archive.names:
            raise DataError(f"{name} is an archive, but not {kind.name}; check the suffix")
        types = parse_xml(f"{name}: {_TYPES}", self._archive.read(_TYPES), self._limits).getroot()
        listed = {
            entry.get("PartName", "").removeprefix("/"): entry.get("ContentType", "")
            for entry in types
            if local_name(entry) == "Override"
        }
        mains = [part for part, type_ in listed.items() if kind.main.search(type_)]
        if not mains or not self._archive.names.issuperset(mains):
            raise DataError(f"{name} is an archive, but not {kind.name}; check the suffix")
        parts = {part for part, type_ in listed.items() if part in self._archive.names and kind.parts.search(type_)}
        return sorted(parts, key=partial(_reading_order, mains[0]))


def _reading_order(main: str, part: str) -> tuple[bool, list[str | tuple[int, str]]]:
    """Sort key of a part: the main part first, slide 2 before slide 10."""
    numbers = (fragment.lstrip("0") for fragment in _NUMBER.split(part)[1::2])
    key: list[str | tuple[int, str]] = list(_NUMBER.split(part))
    key[1::2] = [(len(number), number) for number in numbers]  # any number of digits
    return part != main, key


def _translatable(
    tree: Any,
    paragraphs: Callable[[Any], Iterator[Any]],
    group_of: Callable[[Any], RunGroup],
    limits: DocumentLimits,
) -> Iterator[tuple[Any, RunGroup, InlineText]]:
    for paragraph in list(paragraphs(tree.getroot())):
        limits.check("elements in one paragraph", len(paragraph), _MAX_ELEMENTS)
        group = group_of(paragraph)
        if group.items and group.is_movable:
            inline = group_text(group, limits)
            if inline.tagged.has_words:
                yield paragraph, group, inline
