"""Protocols of corpus readers and of the chunks (parts of a file) that they return; sentence pairs of a chunk.

A reader splits files into chunks in the parent process, which is cheap; a chunk is sent to a worker, which decodes and
checks it. Every dropped pair and every changed character is counted in `ChunkPairs.faults` or `ChunkPairs.notes`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl

from dragoman.data.reason_counts import Tally


@dataclass(frozen=True)
class ChunkPairs:
    """The pairs of a chunk. Each record is a row of the frame or one fault: ``records = height + faults``."""

    frame: pl.DataFrame
    """Columns: source and target (String), and line (UInt32): the line, record or row in its file, from 1."""
    file: str
    """The file named for a pair: that of the source side."""
    records: int
    faults: Tally
    """Invalid lines by reason. Examples name the file and line of the invalid side."""
    notes: Tally
    """Repaired or harmless irregularities by reason."""


@runtime_checkable
class CorpusChunk(Protocol):
    """A part of a corpus, as bytes or as parsed records; it can be pickled."""

    @property
    def file(self) -> str:
        """The file named for its pairs."""

    @property
    def progress(self) -> float:
        """Share of the corpus read after this chunk, 0 to 1; always 0 if the size is unknown."""

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        """Decode and check. Invalid lines are dropped and counted."""


@runtime_checkable
class CorpusReader(Protocol):
    """A corpus whose files exist."""

    def files(self) -> list[str]:
        """Every file, with globs resolved, in the order in which they are read."""

    def chunks(self, rows: int) -> Iterator[CorpusChunk]:
        """Split into chunks of `rows` records, fewer at the ends of files; `DataError` for damaged or unequal files."""
