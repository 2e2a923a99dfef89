"""Shared code of readers of formats in which one file contains source and target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.decode import (
    DecodedLines,
    LineFault,
    decode_lines,
    note_suspicious_characters,
    split_lines,
    strip_line_ends,
)
from dragoman.data.readers.line_blocks import LineBlockReader, ReadProgress
from dragoman.data.readers.shifted_lines import note_shifted_lines
from dragoman.data.readers.streams import open_stream, stored_size
from dragoman.data.reason_counts import Example, Tally
from dragoman.data.token_pairs import SIDES


class FileSequence:
    """Base of readers that read one file after the other."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = list(files)

    def files(self) -> list[str]:
        return list(self._files)


@dataclass(frozen=True)
class FileBlock:
    """Some lines of a file, as bytes."""

    file: str
    data: bytes
    first_line: int
    rows: int
    progress: float
    is_last: bool
    has_crlf: bool = False
    """Whether the first line of the file ends with CR LF, as is usual in CSV."""


def read_blocks(files: Sequence[str], rows: int) -> Iterator[FileBlock]:
    """Read files in blocks of lines, one file after the other."""
    progress = ReadProgress([stored_size(name) for name in files])
    for name in files:
        with open_stream(name) as stream:
            cutter, has_crlf = LineBlockReader(stream), False
            while taken := cutter.fill(rows):
                line, data, share = cutter.line, cutter.take(taken), progress.share(stream)
                has_crlf = data.partition(b"\n")[0].endswith(b"\r") if line == 1 else has_crlf
                yield FileBlock(stream.name, data, line, taken, share, not cutter.fill(1), has_crlf)
            progress.finish(stream)


@dataclass(frozen=True)
class BlockChunk:
    """A block of lines to parse."""

    block: FileBlock

    @property
    def file(self) -> str:
        return self.block.file

    @property
    def progress(self) -> float:
        """Share of the corpus read so far."""
        return self.block.progress

    def texts(self, draft: ChunkBuilder, *, max_line_bytes: int) -> pl.Series:
        """Decode the lines, null if invalid; a blank line at the end of the file is dropped and noted."""
        first = self.block.first_line
        notes_returns = not self.block.has_crlf
        data = strip_line_ends(self.block.data, self.file, first, draft.notes, notes_returns=notes_returns)
        lines = split_lines(data, self.block.rows)
        if self.block.is_last and not lines[-1].strip(b" "):
            lines = lines[:-1]
            draft.notes.add("blank line at the end", 1, [Example(self.file, first + len(lines))])
        decoded = decode_lines(lines, max_line_bytes=max_line_bytes)
        draft.add_decoded(decoded, first)
        return decoded.texts


@dataclass
class ChunkBuilder:
    """Collect the pairs, faults and notes of a chunk."""

    file: str
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)

    def add(self, line: int, source: str, target: str) -> None:
        self.lines.append(line)
        self.sources.append(source)
        self.targets.append(target)

    def add_fault(self, line: int, fault: LineFault) -> None:
        self.faults.add(fault.reason, 1, [Example(self.file, line, fault.shown, "", fault.detail)])

    def add_decoded(self, decoded: DecodedLines, first_line: int) -> None:
        """Add the faults found while decoding lines."""
        for row, fault in sorted(decoded.faults.items()):
            self.add_fault(first_line + row, fault)

    def finish(self, frame: pl.DataFrame | None = None) -> ChunkPairs:
        """Return the chunk with notes on suspicious characters and misalignment; `frame` replaces the added pairs."""
        if frame is None:
            texts = dict(zip(SIDES, (self.sources, self.targets), strict=True))
            frame = pl.DataFrame(texts, schema=dict.fromkeys(SIDES, pl.String))
            frame = frame.with_columns(line=pl.Series(np.array(self.lines, dtype=np.uint32)))
        note_suspicious_characters(frame, (self.file, self.file), self.notes)
        note_shifted_lines(frame, self.file, self.notes)
        return ChunkPairs(frame, self.file, frame.height + self.faults.total, self.faults, self.notes)
