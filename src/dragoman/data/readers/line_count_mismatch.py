"""Locate the line at which two files with unequal line counts become misaligned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dragoman.data.readers.line_blocks import LineBlockReader, line_lengths
from dragoman.data.readers.shifted_lines import ENOUGH, Numbers, evidence, heights, logarithms, shifts
from dragoman.data.readers.streams import open_stream, stored_size

__all__ = ["AlignmentBreak", "explain_mismatch", "find_break"]

_ROWS = 65_536
_FARTHEST_KNOWN = 1000  # a larger difference is not searched for as one gap
_SOME = 4.0  # sufficient evidence at the end of the file, where no more can accumulate


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
        if self._height.get(-difference, 0.0) < _SOME:
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
