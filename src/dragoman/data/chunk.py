"""What readers hand on: a piece of a corpus as it was found, and its pairs once they are read.

A reader cuts files into chunks in the parent process, which is cheap; a chunk is sent to a worker, which decodes and
checks it. No pair is left out, and no character changed, without being counted in `Lines.faults` or `Lines.notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl

from dragoman.config.corpora import OnBadLine
from dragoman.data.tally import Tally

__all__ = ["Chunk", "Lines", "Reader"]


@dataclass(frozen=True)
class Lines:
    """The pairs of a chunk. Every record is either a row of the frame or one fault: ``records = height + faults``."""

    frame: pl.DataFrame
    """Columns: source and target (String), and line (UInt32): the line, record or row in its file, from 1."""
    file: str
    """The file that is named for a pair as a whole: the source side's."""
    records: int
    faults: Tally
    """Bad lines, by reason. Examples name the file and line of the very side that is bad."""
    notes: Tally
    """Oddities that were mended or are harmless, by reason."""


@runtime_checkable
class Chunk(Protocol):
    """A piece of a corpus, as bytes or as parsed records; it can be pickled."""

    @property
    def file(self) -> str:
        """The file that is named for its pairs."""

    @property
    def progress(self) -> float:
        """The share of the corpus' bytes read after this chunk, 0 to 1; 0 throughout where the size is not known."""

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> Lines:
        """Decode and check. Bad lines are left out and counted, whether `on_bad_line` is "error" or "skip"."""


@runtime_checkable
class Reader(Protocol):
    """A corpus whose files are known to be there."""

    def files(self) -> list[str]:
        """Every file, with globs resolved, in the order in which they are read."""

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """Cut the corpus into chunks of so many records.

        The last of a file has fewer, and so has any that would hold too many bytes.

        Raises `DataError` where a file as a whole is bad: not there, cut off, not text, unequal counts of lines.
        """
