"""What becomes of every pair of a corpus: one byte each, in a file that is mapped into memory."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.files import whole

__all__ = ["Fate", "Fates", "HELD_OUT"]

_BLOCK = 1 << 20  # bytes counted at a time


class Fate(IntEnum):
    """What becomes of a pair. The first rule that speaks decides: a pair that is dropped makes no other one drop.

    Pairs that are held out, for validation or test, are never dropped.
    """

    KEPT = 0
    VALIDATION = 1
    TEST = 2
    LEAKED = 3
    DUPLICATE_PAIR = 4
    DUPLICATE_SOURCE = 5
    DUPLICATE_TARGET = 6
    NEAR_DUPLICATE = 7

    @property
    def label(self) -> str:
        """How reports call it."""
        return self.name.lower().replace("_", " ").replace("near ", "near-")


HELD_OUT = (Fate.VALIDATION, Fate.TEST)
"""The fates of pairs that were taken out of the corpus to judge by."""


class Fates:
    """The fates of all pairs, by their position in the corpus; several processes may write different pairs at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = path.stat().st_size
        self.bytes: NDArray[np.uint8]
        if self.rows:
            self.bytes = np.memmap(path, dtype=np.uint8, mode="r+", shape=(self.rows,))
        else:  # nothing cannot be mapped
            self.bytes = np.zeros(0, dtype=np.uint8)

    @classmethod
    def create(cls, path: Path, rows: int) -> Self:
        """Make a file in which all pairs are kept; one that is there already is replaced."""
        with whole(path) as draft, draft.open("wb") as file:
            file.truncate(rows)
        return cls(path)

    def chunk(self, start: int, height: int) -> NDArray[np.uint8]:
        """The fates of the pairs of one chunk; writing to them writes to the file."""
        return self.bytes[start : start + height]

    def counts(self) -> dict[Fate, int]:
        """How many pairs have each fate, those of no pair left out."""
        totals = np.zeros(256, dtype=np.int64)
        for at in range(0, self.rows, _BLOCK):
            totals += np.bincount(self.chunk(at, _BLOCK), minlength=256)
        return {fate: int(totals[fate]) for fate in Fate if totals[fate]}

    def stay(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the pairs are not dropped: those that are kept, and those held out."""
        return np.isin(self.bytes[positions], (Fate.KEPT, *HELD_OUT))

    def any_held_out(self) -> bool:
        """Whether some pairs are held out."""
        return any(fate in self.counts() for fate in HELD_OUT)

    def flush(self) -> None:
        """Have the system write to disk what was marked."""
        if isinstance(self.bytes, np.memmap):
            self.bytes.flush()
