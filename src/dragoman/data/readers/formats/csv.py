"""Read corpora of tables with separators: TSV, which has no quoting, and CSV, which is converted to TSV."""

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.formats.single_file import (
    BlockChunk,
    ChunkBuilder,
    FileBlock,
    FileSequence,
    find_language_columns,
    read_blocks,
)
from dragoman.data.readers.lines import LineFault
from dragoman.data.reason_counts import HEADER, MAX_EXAMPLES, READ_AS_PAIR, Example
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DataError
from dragoman.text.column_headings import is_heading

_MAX_LINES = 50  # of one record
_BROKEN = "line break in a cell"


@dataclass(frozen=True)
class TsvChunk(BlockChunk):
    """Rows as bytes; `columns` are the columns of source and target, from 1, and `width` is that of the first row."""

    columns: tuple[int, int]
    width: int
    languages: tuple[str, str]

    @property
    def separator(self) -> str:
        """Name of the character between columns."""
        return "tab"

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        """Decode the rows and take the two columns."""
        draft = ChunkBuilder(self.file)
        first = self.block.first_line
        texts = self.texts(draft, max_line_bytes=max_line_bytes)
        numbers = pl.Series(np.arange(first, first + len(texts), dtype=np.uint32))
        return self._finish(pl.DataFrame({"row": texts, "line": numbers}), draft)

    def _finish(self, frame: pl.DataFrame, draft: ChunkBuilder) -> ChunkPairs:
        """Take the two columns of tab-separated rows; null rows are dropped."""
        frame = frame.drop_nulls().with_columns(columns=pl.col("row").str.count_matches("\t", literal=True) + 1)
        frame = self._check_widths(frame, draft)
        frame = frame.filter(pl.col("columns") >= max(self.columns))
        frame = frame.select(*(self._column(side) for side in (0, 1)), "line")
        self._note_header(frame, draft)
        return draft.finish(frame)

    def _check_widths(self, frame: pl.DataFrame, draft: ChunkBuilder) -> pl.DataFrame:
        """Record rows with other numbers of columns; return the rows that may be used."""
        needed = max(self.columns)
        for row in frame.filter(pl.col("columns") < needed).iter_rows(named=True):
            detail = f"{row['columns']} of the {needed} columns that are needed; a {self.separator} separates them"
            draft.add_fault(row["line"], LineFault("missing column", detail, row["row"]))
        other = frame.filter((pl.col("columns") >= needed) & (pl.col("columns") != self.width))
        examples = (
            Example(self.file, row["line"], row["row"], "", f"{row['columns']} columns; the first row has {self.width}")
            for row in islice(other.iter_rows(named=True), MAX_EXAMPLES)
        )
        draft.notes.add("number of columns differs from the first row's", other.height, examples)
        return frame

    def _note_header(self, frame: pl.DataFrame, draft: ChunkBuilder) -> None:
        if self.block.first_line > 1 or not frame.height or frame[0, "line"] != 1:
            return
        cells = frame[0, "source"], frame[0, "target"]
        if find_language_columns(cells, self.languages).names or all(
            is_heading(cell, self.languages) for cell in cells
        ):
            detail = f"{READ_AS_PAIR}{self._without_header(cells)}"
            draft.notes.add(HEADER, 1, [Example(self.file, 1, *cells, detail)])

    def _without_header(self, _: tuple[str, str]) -> str:
        """Return how the file is read without its header."""
        return "save the file without it"

    def _column(self, side: int) -> pl.Expr:
        number = self.columns[side]
        parts = pl.col("row").str.splitn("\t", number + 1)
        return parts.struct.field(f"field_{number - 1}").alias(SIDES[side])


class TsvReader(FileSequence):
    """TSV files, one after the other; the languages are used to recognize a header."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[int, int] = (1, 2)) -> None:
        super().__init__(files)
        self._columns = columns
        self._languages = source, target

    def chunks(self, rows: int) -> Iterator[TsvChunk]:
        width = 0
        for block in read_blocks(self._files, rows):
            if block.first_line == 1:
                width = block.data.partition(b"\n")[0].count(b"\t") + 1
            yield TsvChunk(block, self._columns, width, self._languages)


@dataclass(frozen=True)
class CsvChunk(TsvChunk):
    """Rows as bytes; a header in the first row is not a pair."""

    delimiter: str
    has_header: bool

    @property
    def separator(self) -> str:
        return "comma" if self.delimiter == "," else "semicolon"

    def _without_header(self, cells: tuple[str, str]) -> str:
        names = [cell.strip() for cell in cells]
        listed = json.dumps(names, ensure_ascii=False)
        return (
            f"save the file without it, or name its columns: columns = {listed} at its files in the configuration, or "
            f"dragoman new with --columns {shlex.join(names)}"
        )

    def _check_widths(self, frame: pl.DataFrame, draft: ChunkBuilder) -> pl.DataFrame:
        """Drop rows with more cells than the first: their cells would be parts of sentences."""
        wide = frame.filter(pl.col("columns") > self.width)
        for row in wide.iter_rows(named=True):
            count = f"{row['columns']} cells; the first row has {self.width}"
            detail = f"{count}: quote cells that contain a {self.separator}"
            draft.add_fault(row["line"], LineFault("too many columns", detail, row["row"]))
        return super()._check_widths(frame.filter(pl.col("columns") <= self.width), draft)

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        draft = ChunkBuilder(self.file)
        first = self.block.first_line
        texts = self.texts(draft, max_line_bytes=max_line_bytes).to_list()
        rows: list[str | None] = [None] * len(texts)
        place = 1 if self.has_header and first == 1 else 0
        while place < len(texts):
            cells, lines = _record(texts[place : place + _MAX_LINES], self.delimiter)
            if cells is not None:
                while len(cells) > self.width and not cells[-1].strip():
                    cells.pop()  # spreadsheets write empty cells at the end of some rows
                rows[place] = "\t".join(re.sub(r"[\t\n]+", " ", cell) for cell in cells)
            elif (text := texts[place]) is not None:
                draft.add_fault(first + place, LineFault("open quotation", "a quotation mark is not closed", text))
            if lines > 1:
                draft.notes.add(_BROKEN, 1, [Example(self.file, first + place, texts[place] or "")])
            place += lines
        numbers = pl.Series(np.arange(first, first + len(rows), dtype=np.uint32))
        return self._finish(pl.DataFrame({"row": pl.Series(rows, dtype=pl.String), "line": numbers}), draft)


class CsvReader(FileSequence):
    """CSV files, one after the other; the columns are chosen by the header, or there are two."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[str, str] | None = None) -> None:
        super().__init__(files)
        self._columns = columns
        self._languages = source, target

    def chunks(self, rows: int) -> Iterator[CsvChunk]:
        delimiter, width, columns, has_header = ",", 0, (1, 2), False
        for block in read_blocks(self._files, rows):
            if block.first_line == 1:
                line = block.data.partition(b"\n")[0].decode("utf-8-sig", "replace").rstrip("\r")
                delimiter = _delimiter(line, block.file)
                cells = _cells(line, delimiter) or _one_cell(line, block)
                width = len(cells)
                columns, has_header = self._select(block, cells)
            yield CsvChunk(block, columns, width, self._languages, delimiter, has_header)

    def _select(self, block: FileBlock, cells: list[str]) -> tuple[tuple[int, int], bool]:
        """Return the columns from 1, and whether the first row is a header."""
        file = block.file
        names = [cell.strip() for cell in cells]
        named = find_language_columns(tuple(names), self._languages).names
        if self._columns is not None:
            if all(name.isdecimal() for name in self._columns):
                return (int(self._columns[0]), int(self._columns[1])), named is not None
            if missing := [name for name in self._columns if name not in names]:
                raise DataError(
                    f"columns must be numbers or names of the first row of {file}, got {missing[0]}; it has "
                    f"{', '.join(names)[:200]}"
                )
            return (names.index(self._columns[0]) + 1, names.index(self._columns[1]) + 1), True
        if named is None and len(names) > 2:
            raise DataError(
                f"{file} must have two columns, or a header with the languages, got {len(names)} columns "
                f"({', '.join(names)[:200]}); choose two with --columns SRC TGT, or columns in the configuration"
            )
        if named is None:
            return (1, 2), False
        return (names.index(named[0]) + 1, names.index(named[1]) + 1), True


def _one_cell(line: str, block: FileBlock) -> list[str]:
    """Return a first line that is no row as a cell; raise `DataError` if rows end in carriage returns only."""
    if block.data.count(b"\r") > 2 * block.data.count(b"\n"):  # line feeds are those within cells
        raise DataError(
            f"{block.file} must end its rows with line feeds, got carriage returns; convert it: "
            f"tr '\\r' '\\n' < {block.file} > converted.csv"
        )
    return [line]


def _delimiter(line: str, file: str) -> str:
    """Return the separator of the first row: the more frequent one, a comma if equal; only tabs are a `DataError`."""
    found = ";" if line.count(";") > line.count(",") else ","
    if "\t" in line and len(_cells(line, found) or "") == 1:
        raise DataError(
            f"{file} must have commas or semicolons between its columns, got tabs; read it with --format tsv (in the "
            'configuration: format = "tsv"), or name it .tsv'
        )
    return found


def _record(lines: Sequence[str | None], delimiter: str) -> tuple[list[str] | None, int]:
    """Return the cells of the record that begins with the first line, or None, and the number of its lines."""
    text = ""
    for number, line in enumerate(lines, 1):
        if line is None:  # not valid text
            break
        text = f"{text}\n{line}" if number > 1 else line
        if text.count('"') % 2 == 0:
            return _cells(text, delimiter), number
    return None, 1


def _cells(record: str, delimiter: str) -> list[str] | None:
    """Return the cells of a record, or None if a quotation is not closed."""
    try:
        rows = list(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
