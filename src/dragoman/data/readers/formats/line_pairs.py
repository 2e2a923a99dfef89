"""Read corpora of two text files, line by line; locate where files with unequal line counts become misaligned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.lines import (
    DecodedLines,
    LineBlockReader,
    ReadProgress,
    decode_lines,
    line_lengths,
    note_suspicious_characters,
    split_lines,
    strip_line_ends,
)
from dragoman.data.readers.shifted_lines import (
    ENOUGH,
    Numbers,
    evidence,
    heights,
    logarithms,
    note_shifted_lines,
    shifts,
)
from dragoman.data.readers.streams import ByteStream, open_stream, stored_size
from dragoman.data.reason_counts import Example, Tally
from dragoman.errors import DataError

_ROWS = 65_536
_MOST_COMPARED = 10_000_000  # lines whose lengths are compared to find a break: 8 bytes each, several times
_FARTHEST_KNOWN = 1000  # a larger difference is not searched for as one gap
_MIN_EVIDENCE_AT_END = 4.0  # sufficient evidence at the end of the file, where no more can accumulate


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

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        """Decode and check both sides."""
        faults, notes = Tally(), Tally()
        files = self.file, self.target_file
        sides = []
        for file, block in zip(files, (self.source, self.target), strict=True):
            lines = split_lines(strip_line_ends(block, file, self.first_line, notes), self.rows)
            sides.append(decode_lines(lines, max_line_bytes=max_line_bytes))
        line = np.arange(self.first_line, self.first_line + self.rows, dtype=np.uint32)
        frame = pl.DataFrame({"source": sides[0].texts, "target": sides[1].texts, "line": line})
        self._count_bad(sides, faults)
        if faults.total:
            frame = frame.drop_nulls()
        note_suspicious_characters(frame, files, notes)
        note_shifted_lines(frame, self.file, notes)
        return ChunkPairs(frame, self.file, self.rows, faults, notes)

    def _count_bad(self, sides: Sequence[DecodedLines], faults: Tally) -> None:
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


class AlignmentBreak(NamedTuple):
    """Both sides are aligned before this line (from 1); then source lines match target lines `shift` lines later."""

    line: int
    shift: int


def find_break(source: Numbers, target: Numbers) -> AlignmentBreak | None:
    """Return the first break that the lengths of lines give enough evidence for; near the end less suffices."""
    shortest, difference = min(len(source), len(target)), len(source) - len(target)
    usual = float(np.median(source[:shortest] - target[:shortest])) if shortest else 0.0
    found, at_end = [], None
    for shift in {*shifts(), *([-difference] if 0 < abs(difference) <= _FARTHEST_KNOWN else [])}:
        first, last = max(0, -shift), min(shortest, len(target) - shift)
        if last <= first:
            continue
        height = heights(evidence(source, target, shift, usual, first, last))
        above = np.flatnonzero(height > ENOUGH)
        zeros = np.flatnonzero(height[: above[0] if len(above) else None] <= 0.0)
        start = first + (int(zeros[-1]) + 1 if len(zeros) else 0)
        # Source lines without a counterpart precede those that match again, so the break is that much earlier.
        place = AlignmentBreak(start + 1 + min(0, shift), shift)
        if len(above):
            found.append(place)
        elif shift == -difference and height[-1] >= _MIN_EVIDENCE_AT_END:
            at_end = place
    return min(found, default=at_end)


def _line_logarithms(name: str) -> Numbers:
    """Return the logarithms of the lengths of the first lines of a file."""
    blocks, count = [np.empty(0)], 0
    with open_stream(name) as stream:
        lines = LineBlockReader(stream)
        while rows := lines.fill(min(_ROWS, _MOST_COMPARED - count)):
            blocks.append(logarithms(line_lengths(lines.take(rows))))
            count += rows
    return np.concatenate(blocks)


def explain_mismatch(source: str, target: str, counts: tuple[int, int]) -> str:
    """Return the error message for two files with these line counts, with the likely location of the break."""
    difference = counts[0] - counts[1]
    message = f"{source} and {target} must have the same number of lines, got {counts[0]:,} and {counts[1]:,}; "
    if None in (stored_size(source), stored_size(target)):
        return message + "save the input of a pipe to a file to find the location"
    if max(counts) > _MOST_COMPARED:
        return message + "compare their parts, such as the first halves, to find the location"
    found = find_break(_line_logarithms(source), _line_logarithms(target))
    if found is None:
        shorter = source if difference < 0 else target
        return (
            message + f"the lengths of lines do not show where: the last lines of {shorter} may be missing, or others"
        )
    lacking, other_side = (source, target) if found.shift > 0 else (target, source)
    number = "a line" if abs(found.shift) == 1 else f"{abs(found.shift)} lines"
    return (
        message
        + f"by the lengths of lines, {number} may be missing in {lacking}, or too many in {other_side}, at about "
        f"line {found.line:,} ({source}:{found.line}); if these lines correspond, look before them"
    )
