"""Read corpora of two text files: lines with the same number are translations of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dragoman.config.corpus import OnBadLine
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.decode import REPLACED, DecodedLines, decode_lines, split_lines, strip_line_ends
from dragoman.data.readers.line_blocks import LineBlockReader, ReadProgress
from dragoman.data.readers.line_count_mismatch import explain_mismatch
from dragoman.data.readers.shifted_lines import note_shifted_lines
from dragoman.data.readers.streams import ByteStream, open_stream, stored_size
from dragoman.data.readers.suspicious_characters import note_suspicious_characters
from dragoman.data.reason_counts import Example, Tally
from dragoman.errors import DataError

__all__ = ["LinePairChunk", "LinePairReader"]


@dataclass(frozen=True)
class LinePairChunk:
    """The same lines of both files, as bytes."""

    file: str
    target_file: str
    source: bytes
    target: bytes
    first_line: int
    rows: int
    progress: float

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> ChunkPairs:
        """Decode and check both sides."""
        faults, notes = Tally(), Tally()
        files = self.file, self.target_file
        sides = []
        for file, block in zip(files, (self.source, self.target), strict=True):
            lines = split_lines(strip_line_ends(block, file, self.first_line, notes), self.rows)
            sides.append(decode_lines(lines, on_bad_line=on_bad_line, max_line_bytes=max_line_bytes))
        line = np.arange(self.first_line, self.first_line + self.rows, dtype=np.uint32)
        frame = pl.DataFrame({"source": sides[0].texts, "target": sides[1].texts, "line": line})
        self._count_bad(sides, faults, notes)
        if faults.total:
            frame = frame.drop_nulls()
        replaced = {self.first_line + row for side in sides for row in side.replaced}
        note_suspicious_characters(frame, files, replaced, notes)
        note_shifted_lines(frame, self.file, notes)
        return ChunkPairs(frame, self.file, self.rows, faults, notes)

    def _count_bad(self, sides: Sequence[DecodedLines], faults: Tally, notes: Tally) -> None:
        source, target = sides
        files = self.file, self.target_file
        for row in sorted({*source.faults, *target.faults}):
            is_target = row not in source.faults
            fault = target.faults[row] if is_target else source.faults[row]
            detail = fault.detail
            if not is_target and row in target.faults:  # one fault per record: the second is part of the detail
                also = target.faults[row]
                detail += f"; and {self.target_file}:{self.first_line + row}: {also.reason}, {also.detail}"
            shown = _shown(source, row), _shown(target, row)
            faults.add(fault.reason, 1, [Example(files[is_target], self.first_line + row, *shown, detail)])
        for file, side in zip(files, sides, strict=True):
            for row, detail in side.replaced.items():
                shown = _shown(source, row), _shown(target, row)
                notes.add(REPLACED, 1, [Example(file, self.first_line + row, *shown, detail)])


def _shown(side: DecodedLines, row: int) -> str:
    return side.faults[row].shown if row in side.faults else str(side.texts[row])


class LinePairReader:
    """Pairs of files, read one pair after the other."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = list(pairs)

    def files(self) -> list[str]:
        """Source and target files, alternating."""
        return [name for pair in self._pairs for name in pair]

    def chunks(self, rows: int) -> Iterator[LinePairChunk]:
        """Split both sides into blocks of the same lines; unequal line counts raise `DataError`."""
        progress = ReadProgress([stored_size(name) for name in self.files()])
        for source, target in self._pairs:
            with open_stream(source) as one, open_stream(target) as other:
                yield from _cut(one, other, rows, progress)
                progress.finish(one, other)


def _cut(one: ByteStream, other: ByteStream, rows: int, progress: ReadProgress) -> Iterator[LinePairChunk]:
    source, target = LineBlockReader(one), LineBlockReader(other)
    while True:
        counts = source.fill(rows), target.fill(rows)
        if (taken := min(counts)) == 0:
            break
        line = source.line
        blocks = source.take(taken), target.take(taken)
        yield LinePairChunk(one.name, other.name, *blocks, line, taken, progress.share(one, other))
    if max(counts):
        totals = source.count_rest(), target.count_rest()
        raise DataError(explain_mismatch(one.name, other.name, totals))
