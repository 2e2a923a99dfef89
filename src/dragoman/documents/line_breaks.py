"""A text over several lines, as even as its words allow."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

__all__ = ["balanced_breaks"]

_GAP = re.compile(r"(?<=\S) (?=\S)")


def balanced_breaks(
    text: str, lines: int, kept: Sequence[tuple[int, int]] = (), never: Collection[int] = ()
) -> list[int]:
    """The places of the spaces to break a text at, so that it has so many lines, or as many as it has words.

    Each break is the space nearest to where lines of equal length would end; none is in what is `kept`, or at one of
    the places `never`.
    """
    starts = [start for start, _ in kept]
    gaps = [found.start() for found in _GAP.finditer(text)]
    gaps = [gap for gap in gaps if gap not in never and not _is_in(gap, starts, kept)]
    breaks = min(lines - 1, len(gaps))
    chosen: list[int] = []
    first = 0  # of the gaps that are still free
    for left in range(breaks, 0, -1):  # breaks that are still to be placed, this one too
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
