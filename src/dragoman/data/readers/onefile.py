"""What the formats have in common that hold both sides in one file of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dragoman.config.corpora import OnBadLine
from dragoman.data.chunk import Lines
from dragoman.data.pairs import SIDES
from dragoman.data.readers.cut import Cutter, Progress
from dragoman.data.readers.decode import REPLACED, Decoded, Fault, clean_ends, decode, split_lines
from dragoman.data.readers.oddities import note_oddities, note_shifts
from dragoman.data.readers.streams import open_stream, stored_size
from dragoman.data.tally import Example, Tally

__all__ = ["Block", "BlockChunk", "Draft", "cut_blocks"]


@dataclass(frozen=True)
class Block:
    """Some lines of a file, as bytes."""

    file: str
    data: bytes
    first_line: int
    rows: int
    progress: float
    is_last: bool


def cut_blocks(files: Sequence[str], rows: int) -> Iterator[Block]:
    """Cut files into blocks of lines, one file after the other."""
    progress = Progress([stored_size(name) for name in files])
    for name in files:
        with open_stream(name) as stream:
            cutter = Cutter(stream)
            while taken := cutter.fill(rows):
                line, data, share = cutter.line, cutter.take(taken), progress.share(stream)
                yield Block(stream.name, data, line, taken, share, is_last=not cutter.fill(1))
            progress.finish(stream)


@dataclass(frozen=True)
class BlockChunk:
    """Some lines of a file that are to be taken apart."""

    block: Block

    @property
    def file(self) -> str:
        """The file."""
        return self.block.file

    @property
    def progress(self) -> float:
        """The share of the corpus that is read."""
        return self.block.progress

    def texts(self, draft: Draft, *, on_bad_line: OnBadLine, max_line_bytes: int) -> pl.Series:
        """The lines as text, null where they are bad; a blank one at the end of the file is none, and noted."""
        first = self.block.first_line
        lines = split_lines(clean_ends(self.block.data, self.file, first, draft.notes), self.block.rows)
        if self.block.is_last and not lines[-1].strip(b" "):
            lines = lines[:-1]
            draft.notes.add("blank line at the end", 1, [Example(self.file, first + len(lines))])
        decoded = decode(lines, on_bad_line=on_bad_line, max_line_bytes=max_line_bytes)
        draft.add_decoded(decoded, first)
        return decoded.texts


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
            texts = dict(zip(SIDES, (self.sources, self.targets), strict=True))
            frame = pl.DataFrame(texts, schema=dict.fromkeys(SIDES, pl.String))
            frame = frame.with_columns(line=pl.Series(np.array(self.lines, dtype=np.uint32)))
        note_oddities(frame, (self.file, self.file), self.replaced, self.notes)
        note_shifts(frame, self.file, self.notes)
        return Lines(frame, self.file, frame.height + self.faults.total, self.faults, self.notes)
