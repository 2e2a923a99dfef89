"""Read tab-separated corpora; quotation marks have no special meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from dragoman.config.corpus import OnBadLine
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.decode import LineFault
from dragoman.data.readers.formats.single_file import BlockChunk, ChunkBuilder, read_blocks
from dragoman.data.readers.language_columns import find_language_columns
from dragoman.data.reason_counts import HEADER, MAX_EXAMPLES, READ_AS_PAIR, Example
from dragoman.data.token_pairs import SIDES
from dragoman.text.headings import is_heading

__all__ = ["TsvChunk", "TsvReader"]


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

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> ChunkPairs:
        """Decode the rows and take the two columns."""
        draft = ChunkBuilder(self.file)
        first = self.block.first_line
        texts = self.texts(draft, on_bad_line=on_bad_line, max_line_bytes=max_line_bytes)
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


class TsvReader:
    """TSV files, one after the other; the languages are used to recognize a header."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[int, int] = (1, 2)) -> None:
        self._files = list(files)
        self._columns = columns
        self._languages = source, target

    def files(self) -> list[str]:
        """The files."""
        return list(self._files)

    def chunks(self, rows: int) -> Iterator[TsvChunk]:
        """Split the files into blocks of rows."""
        width = 0
        for block in read_blocks(self._files, rows):
            if block.first_line == 1:
                width = block.data.partition(b"\n")[0].count(b"\t") + 1
            yield TsvChunk(block, self._columns, width, self._languages)
