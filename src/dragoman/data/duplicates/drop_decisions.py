"""Store the decision on each sentence pair (kept, or why it was dropped) as one byte in a memory-mapped file."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.files import atomic_write

__all__ = ["Decision", "DecisionFile", "HELD_OUT"]

_BLOCK = 1 << 20  # bytes counted at once


class Decision(IntEnum):
    """Decision on a pair. The first matching rule decides: a dropped pair does not cause others to be dropped.

    Pairs held out for validation or test are never dropped.
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
        """Name in reports."""
        return self.name.lower().replace("_", " ").replace("near ", "near-")


HELD_OUT = (Decision.VALIDATION, Decision.TEST)
"""Decisions of pairs that were taken from the corpus for validation and test."""


class DecisionFile:
    """The decisions on all pairs by position; several processes may write different pairs at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = path.stat().st_size
        self.bytes: NDArray[np.uint8]
        if self.rows:
            self.bytes = np.memmap(path, dtype=np.uint8, mode="r+", shape=(self.rows,))
        else:  # an empty file cannot be mapped
            self.bytes = np.zeros(0, dtype=np.uint8)

    @classmethod
    def create(cls, path: Path, rows: int) -> Self:
        """Create or replace a file in which all pairs are kept."""
        with atomic_write(path) as draft, draft.open("wb") as file:
            file.truncate(rows)
        return cls(path)

    def chunk(self, start: int, height: int) -> NDArray[np.uint8]:
        """Return a writable view of the decisions of one chunk."""
        return self.bytes[start : start + height]

    def counts(self) -> dict[Decision, int]:
        """Return the number of pairs per decision; decisions without pairs are omitted."""
        totals = np.zeros(256, dtype=np.int64)
        for at in range(0, self.rows, _BLOCK):
            totals += np.bincount(self.chunk(at, _BLOCK), minlength=256)
        return {decision: int(totals[decision]) for decision in Decision if totals[decision]}

    def are_retained(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs are not dropped: kept or held out."""
        return np.isin(self.bytes[positions], (Decision.KEPT, *HELD_OUT))

    def any_held_out(self) -> bool:
        """Whether any pair is held out."""
        return any(decision in self.counts() for decision in HELD_OUT)

    def flush(self) -> None:
        """Write the decisions to disk."""
        if isinstance(self.bytes, np.memmap):
            self.bytes.flush()
