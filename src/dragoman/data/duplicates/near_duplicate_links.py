"""Link each dropped near-duplicate to a similar kept pair; if that is dropped too, link another or keep the pair."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.drop_decisions import Decision, DecisionFile
from dragoman.data.duplicates.exact_duplicates import DuplicateCount
from dragoman.data.duplicates.text_similarity import PairComparer
from dragoman.data.reason_counts import MAX_EXAMPLES
from dragoman.data.worker_processes import ProgressCallback

__all__ = ["Links", "settle_links"]

_BLOCK = 1 << 18  # pairs settled at once

_Positions = NDArray[np.int64]


class Links:
    """Link from each dropped pair to a similar one: one position per pair, in a sparse file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        rows = path.stat().st_size // 8
        self._next: _Positions  # position + 1; 0 if there is none
        if rows:
            self._next = np.memmap(path, dtype="<i8", mode="r+", shape=(rows,))
        else:
            self._next = np.zeros(0, dtype=np.int64)

    @classmethod
    def create(cls, path: Path, rows: int) -> Self:
        """Create a file without links."""
        with path.open("wb") as file:
            file.truncate(8 * rows)
        return cls(path)

    def set(self, dropped: _Positions, kept: _Positions) -> None:
        """Link dropped pairs to the kept ones."""
        self._next[dropped] = kept + 1

    def get(self, positions: _Positions) -> _Positions:
        """Return the link of each pair, or -1."""
        return np.asarray(self._next[positions]) - 1

    def kept_for(self, position: int) -> int:
        """Return the pair kept for this one: itself, unless it is linked."""
        link = int(self._next[position]) - 1
        return position if link < 0 else link


def settle_links(
    comparer: PairComparer, decisions: DecisionFile, links: Links, progress: ProgressCallback | None = None
) -> DuplicateCount:
    """Make every link point to a similar kept pair; a pair without one is kept again.

    Links point to earlier pairs or to held-out ones, which are never dropped. So when blocks are processed in order,
    only links within a block are unsettled. Whether a pair is kept again depends only on the pair it is linked to.
    """
    repeats = DuplicateCount()
    for begin in range(0, decisions.rows, _BLOCK):
        end = min(begin + _BLOCK, decisions.rows)
        positions = np.arange(begin, end, dtype=np.int64)
        positions = positions[(decisions.bytes[begin:end] == Decision.NEAR_DUPLICATE) & (links.get(positions) >= 0)]
        while len(ready := _ready(positions, decisions, links)):
            instead = links.get(links.get(ready))
            is_similar = comparer.are_similar(ready, instead)
            links.set(ready[is_similar], instead[is_similar])
            back = ready[~is_similar]
            decisions.bytes[back] = Decision.KEPT
            links.set(back, np.full_like(back, -1))
            positions = positions[decisions.bytes[positions] != Decision.KEPT]
        few = positions[:MAX_EXAMPLES]
        repeats.add(DuplicateCount(len(positions), list(zip(few.tolist(), links.get(few).tolist(), strict=True))))
        if progress is not None:
            progress(end / decisions.rows)
    return repeats


def _ready(positions: _Positions, decisions: DecisionFile, links: Links) -> _Positions:
    """Return pairs linked to a dropped pair that is linked to a retained one."""
    linked = links.get(positions)
    lost = positions[~decisions.are_retained(linked)]
    ready: _Positions = lost[decisions.are_retained(links.get(links.get(lost)))]
    return ready
