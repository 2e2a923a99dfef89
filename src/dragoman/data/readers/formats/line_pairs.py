"""Read corpora of two text files, line by line; locate where files with unequal line counts become misaligned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from dragoman.config.corpus import OnBadLine
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.decode import (
    REPLACED,
    DecodedLines,
    decode_lines,
    note_suspicious_characters,
    split_lines,
    strip_line_ends,
)
from dragoman.data.readers.line_blocks import LineBlockReader, ReadProgress, line_lengths
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


class AlignmentBreak(NamedTuple):
    """Both sides are aligned before this line (from 1); then source lines match target lines `shift` lines later."""

    line: int
    shift: int


class _Search:
    """Accumulated evidence for each shift."""

    def __init__(self, difference: int) -> None:
        known = [-difference] if 0 < abs(difference) <= _FARTHEST_KNOWN else []
        self._height = dict.fromkeys([*shifts(), *known], 0.0)
        self._start = dict.fromkeys(self._height, 0)  # line after the evidence was last zero
        self._margin = max(abs(shift) for shift in self._height)
        self._source: Numbers = np.empty(0)
        self._target: Numbers = np.empty(0)
        self._base = 0  # the line, from 0, that the two arrays begin with
        self._done = 0  # the first line that was not evaluated yet

    def add(self, source: Numbers, target: Numbers, *, is_last: bool) -> AlignmentBreak | None:
        """Evaluate more lines of both sides; return the first break with enough evidence."""
        self._source = np.concatenate([self._source, source])
        self._target = np.concatenate([self._target, target])
        shortest = min(len(self._source), len(self._target))
        first = self._done - self._base
        last = shortest - (0 if is_last else self._margin)
        if last <= first:
            return None
        usual = float(np.median(self._source[:shortest] - self._target[:shortest]))
        found = [start for shift in self._height if (start := self._judge(shift, usual, first, last))]
        self._done = self._base + last
        self._forget(max(0, last - self._margin))
        return min(found, default=None)

    def most_likely_at_end(self, difference: int) -> AlignmentBreak | None:
        """Return the most likely break near the end, where less evidence suffices."""
        if self._height.get(-difference, 0.0) < _MIN_EVIDENCE_AT_END:
            return None
        return self._break(-difference)

    def _judge(self, shift: int, usual: float, first: int, last: int) -> AlignmentBreak | None:
        first, last = max(first, -shift), min(last, len(self._target) - shift)
        if last <= first:
            return None
        says = evidence(self._source, self._target, shift, usual, first, last)
        height = heights(says, self._height[shift])
        enough = np.flatnonzero(height > ENOUGH)
        until = int(enough[0]) if len(enough) else len(height)
        zeros = np.flatnonzero(height[:until] <= 0.0)
        if len(zeros):
            self._start[shift] = self._base + first + int(zeros[-1]) + 1
        self._height[shift] = float(height[-1])
        return self._break(shift) if len(enough) else None

    def _break(self, shift: int) -> AlignmentBreak:
        # Source lines without a counterpart precede those that match again, so the break is that much earlier.
        return AlignmentBreak(self._start[shift] + 1 + min(0, shift), shift)

    def _forget(self, rows: int) -> None:
        self._source, self._target = self._source[rows:], self._target[rows:]
        self._base += rows


def find_break(source: LineBlockReader, target: LineBlockReader, difference: int) -> AlignmentBreak | None:
    """Read both sides in bounded memory and find the break; `difference` is source lines minus target lines."""
    search = _Search(difference)
    while True:
        rows = source.fill(_ROWS), target.fill(_ROWS)
        sides = [
            logarithms(line_lengths(side.take(n)) if n else np.empty(0))
            for side, n in zip((source, target), rows, strict=True)
        ]
        is_last = min(rows) == 0
        found = search.add(*sides, is_last=is_last)
        if found or is_last:
            return found or search.most_likely_at_end(difference)


def explain_mismatch(source: str, target: str, counts: tuple[int, int]) -> str:
    """Return the error message for two files with these line counts, with the likely location of the break."""
    difference = counts[0] - counts[1]
    message = f"{source} and {target} must have the same number of lines, got {counts[0]:,} and {counts[1]:,}; "
    if None in (stored_size(source), stored_size(target)):
        return message + "save the input of a pipe to a file to find the location"
    with open_stream(source) as one, open_stream(target) as other:
        found = find_break(LineBlockReader(one), LineBlockReader(other), difference)
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
