"""Break a text into lines of similar length."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

__all__ = ["balanced_breaks"]

_GAP = re.compile(r"(?<=\S) (?=\S)")


def balanced_breaks(
    text: str, lines: int, kept: Sequence[tuple[int, int]] = (), never: Collection[int] = ()
) -> list[int]:
    """Return the positions of the spaces at which to break a text into `lines` lines, or fewer if it has fewer words.

    Each break is the space nearest to the end of a line of equal length, outside the `kept` spans and the positions
    in `never`.
    """
    starts = [start for start, _ in kept]
    gaps = [found.start() for found in _GAP.finditer(text)]
    gaps = [gap for gap in gaps if gap not in never and not _is_in(gap, starts, kept)]
    breaks = min(lines - 1, len(gaps))
    chosen: list[int] = []
    first = 0  # first gap that is still free
    for left in range(breaks, 0, -1):  # breaks still to be placed, including this one
        begin = chosen[-1] + 1 if chosen else 0
        ideal = begin + (len(text) - begin) / (left + 1)
        last = len(gaps) - left
        place = min(max(bisect_left(gaps, ideal), first), last)
        if place > first and ideal - gaps[place - 1] <= abs(gaps[place] - ideal):
            place -= 1
        chosen.append(gaps[place])
        first = place + 1
    return chosen


def _is_in(place: int, starts: Sequence[int], kept: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(starts, place) - 1
    return before >= 0 and place < kept[before][1]
