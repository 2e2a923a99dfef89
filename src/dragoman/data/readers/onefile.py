"""What the formats have in common that hold both sides in one file of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dragoman.data.chunk import Lines
from dragoman.data.readers.cut import Cutter, Progress
from dragoman.data.readers.decode import REPLACED, Decoded, Fault
from dragoman.data.readers.oddities import note_oddities, note_shifts
from dragoman.data.readers.streams import open_stream, stored_size
from dragoman.data.tally import Example, Tally

__all__ = ["Block", "Draft", "cut_blocks"]


@dataclass(frozen=True)
class Block:
    """Some lines of a file, as bytes."""

    file: str
    data: bytes
    first_line: int
    rows: int
    progress: float


def cut_blocks(files: Sequence[str], rows: int) -> Iterator[Block]:
    """Cut files into blocks of lines, one file after the other."""
    progress = Progress([stored_size(name) for name in files])
    for name in files:
        with open_stream(name) as stream:
            cutter = Cutter(stream)
            while taken := cutter.fill(rows):
                line = cutter.line
                yield Block(stream.name, cutter.take(taken), line, taken, progress.share(stream))
            progress.finish(stream)


@dataclass
class Draft:
    """The pairs of a chunk in the making, with what is counted on the way."""

    file: str
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)
    replaced: set[int] = field(default_factory=set)

    def add(self, line: int, source: str, target: str) -> None:
        """One good pair."""
        self.lines.append(line)
        self.sources.append(source)
        self.targets.append(target)

    def add_fault(self, line: int, fault: Fault) -> None:
        """One record that is left out."""
        self.faults.add(fault.reason, 1, [Example(self.file, line, fault.shown, "", fault.detail)])

    def add_decoded(self, decoded: Decoded, first_line: int) -> None:
        """What decoding whole lines has found."""
        for row, fault in sorted(decoded.faults.items()):
            self.add_fault(first_line + row, fault)
        self.add_replaced((first_line + row, detail) for row, detail in decoded.replaced.items())

    def add_replaced(self, places: Iterable[tuple[int, str]]) -> None:
        """Lines into which U+FFFD was put, with the reason."""
        for line, detail in places:
            self.replaced.add(line)
            self.notes.add(REPLACED, 1, [Example(self.file, line, "", "", detail)])

    def finish(self, frame: pl.DataFrame | None = None) -> Lines:
        """Look at the pairs as a whole; they are those that were added, unless a frame of them is given."""
        if frame is None:
            texts = {"source": self.sources, "target": self.targets}
            frame = pl.DataFrame(texts, schema={"source": pl.String, "target": pl.String})
            frame = frame.with_columns(line=pl.Series(np.array(self.lines, dtype=np.uint32)))
        note_oddities(frame, (self.file, self.file), self.replaced, self.notes)
        note_shifts(frame, self.file, self.notes)
        return Lines(frame, self.file, frame.height + self.faults.total, self.faults, self.notes)
