"""Jupyter notebooks: translate the cells of Markdown; code, outputs and metadata stay byte-identical.

`nbformat` is not used: it writes the whole file again, and so changes numbers and indents of the outputs.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.markdown.document import read_md
from dragoman.documents.text.text_file import TextEdits, decode_file
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

_MAX_LINES, _MAX_BRACKETS, _MAX_VALUES, _MAX_CELLS = 500_000, 300_000, 700_000, 5_000
_MAX_MARKDOWN = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class _Cell:
    """A cell of Markdown: the position of its source in the file, and its text."""

    start: int
    end: int
    is_list: bool
    document: Document


def read_ipynb(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a notebook of version 4 of the format."""
    return _Notebook(name, data, limits)


class _Notebook:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._file = decode_file(name, data, limits, lines=_MAX_LINES)
        text = self._file.text
        limits.check("lists and objects", text.count("[") + text.count("{"), _MAX_BRACKETS)
        limits.check("values", text.count(","), _MAX_VALUES)
        try:
            whole = _DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name} must be JSON, got: {ascii(str(error))[1:120]}; save it again") from None
        if not isinstance(whole, dict) or whole.get("nbformat") != 4 or not isinstance(whole.get("cells"), list):
            raise DataError(f"{name} must be a notebook of version 4; convert it: jupyter nbconvert --to notebook")
        limits.check("cells", len(whole["cells"]), _MAX_CELLS)
        self._is_ascii = text.isascii() and "\\u" in text
        self._cells: list[_Cell] = []
        size = 0
        for start, end, source in _sources(text):
            plain = "".join(source)
            size += len(plain)
            limits.check("characters of Markdown", size, _MAX_MARKDOWN)
            if not plain.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in plain):
                raise DataError(f"{name} has half of a character in a cell; save it again")
            document = read_md(name, plain.encode(), limits)
            self._cells.append(_Cell(start, end, isinstance(source, list), document))
        self.segments = tuple(segment for cell in self._cells for segment in cell.document.segments)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        new = iter(translated)
        edits = TextEdits(self._file.text)
        for cell in self._cells:
            texts = list(islice(new, len(cell.document.segments)))
            if any(changed_segments(cell.document.segments, texts)):
                written = cell.document.write(texts, language=language).decode()
                edits.replace(cell.start, cell.end, self._source(cell, written))
        return self._file.encoded(edits.joined())

    def _source(self, cell: _Cell, text: str) -> str:
        """Return the source of a cell as JSON: a list of lines with the layout of the old one, or a string."""
        if not cell.is_list:
            return json.dumps(text, ensure_ascii=self._is_ascii)
        old = self._file.text[cell.start : cell.end]
        first = _SPACE.match(old, 1)
        before = first[0] if first else ""
        after = old[len(old[:-1].rstrip()) : -1]
        between = f",{before}" if before or cell.end - cell.start < 3 else ", "
        lines = (json.dumps(line, ensure_ascii=self._is_ascii) for line in re.findall(r"[^\n]*\n|[^\n]+", text))
        return f"[{before}{between.join(lines)}{after}]"


def _sources(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield start, end and value of the source of each cell of Markdown; the file is known to be JSON."""
    cells = [start for key, _, start, _ in _entries(text, _skip(text, 0)) if key == "cells"]
    for _, cell, start, _ in _entries(text, cells[-1]):
        if isinstance(cell, dict) and cell.get("cell_type") == "markdown":
            source = cell.get("source")
            if isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source)):
                found = [place for key, _, *place in _entries(text, start) if key == "source"]
                yield found[-1][0], found[-1][1], source


def _entries(text: str, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield the key, the value, its start and its end of each entry of the object or list at a position."""
    is_object = text[at] == "{"
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key = ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        yield key, value, at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    """Return the position after white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at
