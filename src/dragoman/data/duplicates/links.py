"""For which pair each near-duplicate was dropped, and setting right those whose pair was dropped in its turn."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.exact import Repeats
from dragoman.data.duplicates.fates import Fate, Fates
from dragoman.data.duplicates.likeness import Comparer
from dragoman.data.tally import MOST_EXAMPLES
from dragoman.data.workers import Share

__all__ = ["Links", "settle"]

_BLOCK = 1 << 18  # pairs that are settled at a time

_Positions = NDArray[np.int64]


class Links:
    """From each dropped pair to the one it is like: a position a pair, in a file that has room only for those set."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rows = path.stat().st_size // 8
        self._next: _Positions  # one more than the position; 0 if there is none
        if rows:
            self._next = np.memmap(path, dtype="<i8", mode="r+", shape=(rows,))
        else:
            self._next = np.zeros(0, dtype=np.int64)

    @classmethod
    def create(cls, path: Path, rows: int) -> Self:
        """Make a file without any link."""
        with path.open("wb") as file:
            file.truncate(8 * rows)
        return cls(path)

    def set(self, dropped: _Positions, kept: _Positions) -> None:
        """Link pairs to those they were dropped for."""
        self._next[dropped] = kept + 1

    def get(self, positions: _Positions) -> _Positions:
        """What each pair is linked to, or -1."""
        return np.asarray(self._next[positions]) - 1

    def kept_for(self, position: int) -> int:
        """The pair that is kept for this one: itself, unless it is linked."""
        link = int(self._next[position]) - 1
        return position if link < 0 else link


def settle(comparer: Comparer, fates: Fates, links: Links, progress: Share | None = None) -> Repeats:
    """See to it that every link leads to a pair that is kept and alike; a pair for which there is none comes back.

    Links lead to earlier pairs, or to held-out ones, which are never dropped. So block after block what they lead to is
    settled, but for links within a block.
    Whether a pair comes back depends on nothing but whether the one it is linked to does.
    """
    repeats = Repeats()
    for begin in range(0, fates.rows, _BLOCK):
        end = min(begin + _BLOCK, fates.rows)
        positions = np.arange(begin, end, dtype=np.int64)
        positions = positions[(fates.bytes[begin:end] == Fate.NEAR_DUPLICATE) & (links.get(positions) >= 0)]
        while len(ready := _ready(positions, fates, links)):
            instead = links.get(links.get(ready))
            is_alike = comparer.are_alike(ready, instead)
            links.set(ready[is_alike], instead[is_alike])
            back = ready[~is_alike]
            fates.bytes[back] = Fate.KEPT
            links.set(back, np.full_like(back, -1))
            positions = positions[fates.bytes[positions] != Fate.KEPT]
        few = positions[:MOST_EXAMPLES]
        repeats.add(Repeats(len(positions), list(zip(few.tolist(), links.get(few).tolist(), strict=True))))
        if progress is not None:
            progress(end / fates.rows)
    return repeats


def _ready(positions: _Positions, fates: Fates, links: Links) -> _Positions:
    """Those linked to a dropped pair that is itself linked to one that stays."""
    linked = links.get(positions)
    lost = positions[~fates.stay(linked)]
    ready: _Positions = lost[fates.stay(links.get(links.get(lost)))]
    return ready
