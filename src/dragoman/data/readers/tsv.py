"""Tab-separated values: a tab separates, a line feed ends a row, and nothing is quoted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from dragoman.config.corpora import OnBadLine
from dragoman.data.chunk import Lines
from dragoman.data.readers.decode import Fault, clean_ends, decode, split_lines
from dragoman.data.readers.onefile import Block, Draft, cut_blocks
from dragoman.data.tally import MOST_EXAMPLES, Example

__all__ = ["TsvChunk", "TsvReader"]


@dataclass(frozen=True)
class TsvChunk:
    """Some rows, as bytes; `columns` are those of source and target, from 1, and `width` is the first row's."""

    block: Block
    columns: tuple[int, int]
    width: int

    @property
    def file(self) -> str:
        """The file."""
        return self.block.file

    @property
    def progress(self) -> float:
        """The share of the corpus that is read."""
        return self.block.progress

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> Lines:
        """Decode the rows and take the two columns."""
        draft = Draft(self.file)
        first = self.block.first_line
        lines = split_lines(clean_ends(self.block.data, self.file, first, draft.notes), self.block.rows)
        decoded = decode(lines, on_bad_line=on_bad_line, max_line_bytes=max_line_bytes)
        draft.add_decoded(decoded, first)
        numbers = pl.Series(np.arange(first, first + self.block.rows, dtype=np.uint32))
        frame = pl.DataFrame({"row": decoded.texts, "line": numbers}).drop_nulls()
        frame = frame.with_columns(columns=pl.col("row").str.count_matches("\t", literal=True) + 1)
        self._check_widths(frame, draft)
        frame = frame.filter(pl.col("columns") >= max(self.columns))
        return draft.finish(frame.select(*(self._column(side) for side in (0, 1)), "line"))

    def _check_widths(self, frame: pl.DataFrame, draft: Draft) -> None:
        needed = max(self.columns)
        for row in frame.filter(pl.col("columns") < needed).iter_rows(named=True):
            detail = f"{row['columns']} of the {needed} columns that are needed; a tab separates them"
            draft.add_fault(row["line"], Fault("missing column", detail, row["row"]))
        other = frame.filter((pl.col("columns") >= needed) & (pl.col("columns") != self.width))
        examples = (
            Example(self.file, row["line"], row["row"], "", f"{row['columns']} columns; the first row has {self.width}")
            for row in islice(other.iter_rows(named=True), MOST_EXAMPLES)
        )
        draft.notes.add("number of columns differs from the first row's", other.height, examples)

    def _column(self, side: int) -> pl.Expr:
        number = self.columns[side]
        parts = pl.col("row").str.splitn("\t", number + 1)
        return parts.struct.field(f"field_{number - 1}").alias(("source", "target")[side])


class TsvReader:
    """TSV files, one after the other."""

    def __init__(self, files: Sequence[str], columns: tuple[int, int] = (1, 2)) -> None:
        self._files = list(files)
        self._columns = columns

    def files(self) -> list[str]:
        """The files."""
        return list(self._files)

    def chunks(self, rows: int) -> Iterator[TsvChunk]:
        """Cut the files into blocks of rows."""
        width = 0
        for block in cut_blocks(self._files, rows):
            if block.first_line == 1:
                width = block.data.partition(b"\n")[0].count(b"\t") + 1
            yield TsvChunk(block, self._columns, width)
