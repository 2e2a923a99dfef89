"""Two files with unequal numbers of lines: where does it start?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dragoman.data.readers.cut import Cutter, line_lengths
from dragoman.data.readers.shift import ENOUGH, Numbers, evidence, heights, logarithms, shifts
from dragoman.data.readers.streams import open_stream, stored_size

__all__ = ["Break", "explain_unequal", "find_break"]

_ROWS = 65_536
_FARTHEST_KNOWN = 1000  # a difference of more lines than this is not looked for as one gap
_SOME = 4.0  # evidence that is believed at the end of the file, where no more can add up


class Break(NamedTuple):
    """Up to this line (from 1) both sides go together; then source lines fit the target lines `shift` further on."""

    line: int
    shift: int


class _Search:
    """The evidence for each shift, over as much of both files as was seen."""

    def __init__(self, difference: int) -> None:
        known = [-difference] if 0 < abs(difference) <= _FARTHEST_KNOWN else []
        self._height = dict.fromkeys([*shifts(), *known], 0.0)
        self._start = dict.fromkeys(self._height, 0)  # where the evidence was last at zero
        self._margin = max(abs(shift) for shift in self._height)
        self._source: Numbers = np.empty(0)
        self._target: Numbers = np.empty(0)
        self._base = 0  # the line, from 0, that the two arrays begin with
        self._done = 0  # the first line that was not yet judged

    def add(self, source: Numbers, target: Numbers, *, is_last: bool) -> Break | None:
        """Judge further lines of both sides; the first break, once there is enough evidence for one."""
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

    def likeliest_at_end(self, difference: int) -> Break | None:
        """The break that the last lines speak for, if they were too few to prove it."""
        if self._height.get(-difference, 0.0) < _SOME:
            return None
        return self._break(-difference)

    def _judge(self, shift: int, usual: float, first: int, last: int) -> Break | None:
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

    def _break(self, shift: int) -> Break:
        # Source lines without a counterpart come before those that fit again, so the sides part that much earlier.
        return Break(self._start[shift] + 1 + min(0, shift), shift)

    def _forget(self, rows: int) -> None:
        self._source, self._target = self._source[rows:], self._target[rows:]
        self._base += rows


def find_break(source: Cutter, target: Cutter, difference: int) -> Break | None:
    """Read both sides again, in bounded memory; `difference` is source lines minus target lines."""
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
            return found or search.likeliest_at_end(difference)


def explain_unequal(source: str, target: str, counts: tuple[int, int]) -> str:
    """The message for two files with these counts of lines: what is known of where they part."""
    difference = counts[0] - counts[1]
    message = f"{source} and {target} must have the same number of lines, got {counts[0]:,} and {counts[1]:,}; "
    if None in (stored_size(source), stored_size(target)):
        return message + "save what comes through a pipe as a file to learn where they part"
    with open_stream(source) as one, open_stream(target) as other:
        found = find_break(Cutter(one), Cutter(other), difference)
    if found is None:
        shorter = source if difference < 0 else target
        return message + f"no line stands out where they part, so perhaps the last lines of {shorter} are missing"
    lacking, other_side = (source, target) if found.shift > 0 else (target, source)
    number = "a line" if abs(found.shift) == 1 else f"{abs(found.shift)} lines"
    return (
        message + f"their lengths stop going together at about line {found.line:,} ({source}:{found.line}): {number} "
        f"missing in {lacking}, or too many in {other_side}"
    )
