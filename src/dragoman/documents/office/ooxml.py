"""Office Open XML documents (docx, pptx, xlsx): edit the XML files with text in place and copy all other files.

`python-docx`, `python-pptx` and `openpyxl` are not used: they change the order and compression of the parts, read
archives without limits, and do not support text boxes or footnotes, or drop charts and formats of parts of a cell.
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
from dragoman.documents.office import spreadsheetml as sheets
from dragoman.documents.office import wordprocessingml as word
from dragoman.documents.office.archive import Archive
from dragoman.documents.office.referred_texts import ReferredTexts
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
    parts: dict[re.Pattern[str], ModuleType]
    """How texts are written, by content type of the parts with text."""


_DOCX = _Kind(
    "a Word document",
    re.compile(r"word\w*\.(document|template)\.(macroEnabled\w*\.)?main\+xml$", re.IGNORECASE),
    {re.compile(r"(\.main|header|footer|footnotes|endnotes|wordprocessingml\.comments)\+xml$"): word},
)
_PPTX = _Kind(
    "a PowerPoint presentation",
    re.compile(r"(presentation|slideshow|template)\.(macroEnabled\w*\.)?main\+xml$", re.IGNORECASE),
    {re.compile(r"(presentationml\.slide|notesSlide|diagramData|diagramDrawing)\+xml$"): slides},
)
_SHEET = re.compile(r"spreadsheetml\.worksheet\+xml$")
_XLSX = _Kind(
    "an Excel workbook",
    re.compile(
        r"(spreadsheetml\.(sheet|template)|ms-excel\.(sheet|template)\.macroEnabled)\.main\+xml$", re.IGNORECASE
    ),
    {
        re.compile(r"spreadsheetml\.(sharedStrings|comments)\+xml$"): sheets,
        _SHEET: sheets,
        re.compile(r"officedocument\.drawing\+xml$"): slides,
    },
)
_REFERRING = re.compile(r"(\.main|spreadsheetml\.(worksheet|table|pivotCacheDefinition))\+xml$")
_IN_CELLS = re.compile(rb"<(\w+:)?is>|i\0s\0>")  # also in UTF-16


def read_docx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a Word document: text, tables, headers, footers, notes, comments and text boxes."""
    return _OfficeOpenXml(name, data, _DOCX, limits)


def read_pptx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a presentation: slides, notes, tables, groups and diagrams."""
    return _OfficeOpenXml(name, data, _PPTX, limits)


def read_xlsx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a workbook: texts of cells, comments and text boxes; texts to which formulas refer stay."""
    return _OfficeOpenXml(name, data, _XLSX, limits)


class _OfficeOpenXml:
    def __init__(self, name: str, data: bytes, kind: _Kind, limits: DocumentLimits) -> None:
        self.name = name
        self._archive = Archive(name, data)
        self._limits = limits
        self._referred = ReferredTexts(limits)
        self._main = ""
        self._parts = self._find_parts(kind)
        self._segments: dict[str, list[TaggedText]] = {}
        for part in self._parts:
            _, _, texts = self._texts(part)
            self._segments[part] = [limits.add(inline.tagged) for _, _, inline in texts]
        self.notes = self._referred.notes

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
        if changed and self._referred.has_formulas:
            original = self._archive.read(self._main)
            workbook = parse_xml(f"{self._archive.name}: {self._main}", original, self._limits)
            sheets.request_calculation(workbook.getroot())
            changed[self._main] = serialize_xml(workbook, original)
        return self._archive.write(changed)

    def _write_part(self, part: str, new: Sequence[TaggedText | None]) -> bytes:
        tree, original, texts = self._texts(part)
        dialect = self._parts[part]
        writer = RunWriter(dialect.make_run)
        for (paragraph, group, inline), tagged in zip(list(texts), new, strict=True):
            if tagged is not None:
                writer.write(paragraph, group, inline.tree(tagged), dialect.fixed_position)
                if dialect is sheets:
                    sheets.finish(paragraph)
        return serialize_xml(tree, original)

    def _texts(self, part: str) -> tuple[Any, bytes, Iterator[tuple[Any, RunGroup, InlineText]]]:
        original = self._archive.read(part)
        tree = parse_xml(f"{self._archive.name}: {part}", original, self._limits)
        dialect = self._parts[part]
        stays = self._referred.stays if dialect is sheets else lambda _: False
        return tree, original, _translatable(tree, dialect, stays, self._limits)

    def _find_parts(self, kind: _Kind) -> dict[str, Any]:
        """Return how the texts of each part are written, by part in reading order."""
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
        self._main = mains[0]
        present = {part: type_ for part, type_ in listed.items() if part in self._archive.names}
        for part, type_ in present.items() if kind is _XLSX else ():
            if _REFERRING.search(type_):
                self._referred.add_part(self._archive.read(part))
        dialects = {
            part: dialect
            for part, type_ in present.items()
            for pattern, dialect in kind.parts.items()
            if pattern.search(type_) and (pattern is not _SHEET or _IN_CELLS.search(self._archive.read(part)))
        }
        return {part: dialects[part] for part in sorted(dialects, key=partial(_reading_order, self._main))}


def _reading_order(main: str, part: str) -> tuple[bool, list[str | tuple[int, str]]]:
    """Sort key of a part: the main part first, slide 2 before slide 10."""
    numbers = (fragment.lstrip("0") for fragment in _NUMBER.split(part)[1::2])
    key: list[str | tuple[int, str]] = list(_NUMBER.split(part))
    key[1::2] = [(len(number), number) for number in numbers]  # any number of digits
    return part != main, key


def _translatable(
    tree: Any, dialect: Any, stays: Callable[[str], bool], limits: DocumentLimits
) -> Iterator[tuple[Any, RunGroup, InlineText]]:
    for paragraph in list(dialect.paragraphs(tree.getroot())):
        limits.check("elements in one paragraph", len(paragraph), _MAX_ELEMENTS)
        group = dialect.paragraph_group(paragraph)
        if group.items and group.is_movable:
            inline = group_text(group, limits)
            if inline.tagged.has_words and not stays(inline.tagged.text):
                yield paragraph, group, inline
