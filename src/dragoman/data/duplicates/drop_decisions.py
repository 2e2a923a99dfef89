"""Draw held-out pairs, and store the decision on each pair (kept, or why it was dropped) as one byte in a file.

Only the main process changes the decisions. Tasks read them and write the pairs that they drop to a file of their own,
so a task whose worker was lost can run again, on another machine too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.pair_keys import KeyKind, read_keys
from dragoman.data.permutation import mix, mix_seed
from dragoman.data.worker_processes import ProgressCallback
from dragoman.errors import DataError
from dragoman.files import atomic_write

_BLOCK = 1 << 20  # bytes counted, and drops read, at once

AddDrops = Callable[..., None]
"""Adds columns of positions with one row per dropped pair: the pair and, in some passes, the one kept instead."""

HELD_OUT_KEYS: tuple[KeyKind, ...] = ("pair", "folded_source")
"""Kinds of keys that `choose_held_out` reads."""

# Sort keys of pairs, the most important first. The position only distinguishes equal pairs.
_DRAW = np.dtype(
    [("rank", "<u8"), ("low", "<u8"), ("pair_high", "<u8"), ("pair_low", "<u8"), ("position", "<i8")], align=True
)
_Draws = NDArray[np.void]


class Decision(IntEnum):
    """Decision on a pair; the first rule decides, a dropped pair drops no others, held-out pairs are never dropped."""

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
        return self.name.lower().replace("_", " ").replace("near ", "near-")


HELD_OUT = (Decision.VALIDATION, Decision.TEST)
"""Decisions of pairs that were taken from the corpus for validation and test."""


class DecisionFile:
    """The decisions on all pairs by position."""

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        self.rows = path.stat().st_size
        self.bytes: NDArray[np.uint8]
        if self.rows:
            self.bytes = np.memmap(path, dtype=np.uint8, mode="r+" if writable else "r", shape=(self.rows,))
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
        return any(decision in self.counts() for decision in HELD_OUT)

    def drop_path(self, number: int) -> Path:
        """Return the file for the drops of the task with this number, next to the decisions."""
        return self.path.with_name(f"{self.path.name}.drops-{number:06}")

    def flush(self) -> None:
        """Write the decisions to disk, where workers on other machines read them."""
        if isinstance(self.bytes, np.memmap):
            self.bytes.flush()


@contextmanager
def write_drops(path: Path) -> Iterator[AddDrops]:
    """Write the pairs that a task drops; the file gets its name at the end of the block."""
    with atomic_write(path) as draft, draft.open("wb") as file:

        def add(*columns: NDArray[np.int64]) -> None:
            file.write(np.stack(columns, axis=1).astype("<i8").tobytes())  # [drops, columns]

        yield add


def read_drops(path: Path, columns: int = 1) -> Iterator[list[NDArray[np.int64]]]:
    """Yield the columns of a file of `write_drops`, a part of its rows at a time, then delete it."""
    with path.open("rb") as file:
        while data := file.read(8 * columns * _BLOCK):
            rows = np.frombuffer(data, dtype="<i8").reshape(-1, columns)  # [drops, columns]
            yield list(rows.T)
    path.unlink()


def choose_held_out(
    key_files: Sequence[Path],
    starts: Sequence[int],
    count: int,
    seed: int,
    decisions: DecisionFile,
    *,
    progress: ProgressCallback | None = None,
) -> NDArray[np.int64]:
    """Return exactly `count` kept pairs with different sources: those with the lowest hashes of text and seed."""
    best = np.empty(0, dtype=_DRAW)
    for done, (path, start) in enumerate(zip(key_files, starts, strict=True), start=1):
        draws = _draws(path, start, seed, decisions)
        if len(best) == count > 0:
            draws = draws[draws["rank"] <= best["rank"][-1]]
        best = _lowest(np.concatenate([best, draws]), count)
        if progress is not None:
            progress(done / len(key_files))
    if len(best) < count:
        raise DataError(
            f"validation_pairs and test_pairs must together be at most the number of different sources, {len(best)}, "
            f"got {count}; take fewer, or name files for them"
        )
    positions: NDArray[np.int64] = best["position"].astype(np.int64)
    return positions


def _draws(path: Path, start: int, seed: int, decisions: DecisionFile) -> _Draws:
    sources, pairs = read_keys(path, "folded_source"), read_keys(path, "pair")
    draws = np.empty(len(sources), dtype=_DRAW)
    rows = sources["row"]
    draws["rank"] = mix(sources["high"] ^ mix_seed(seed))
    draws["low"] = sources["low"]
    draws["position"] = rows.astype(np.int64) + start
    by_row = np.empty_like(pairs)
    by_row[pairs["row"]] = pairs
    draws["pair_high"], draws["pair_low"] = by_row["high"][rows], by_row["low"][rows]
    kept: _Draws = draws[decisions.bytes[draws["position"]] == Decision.KEPT]
    return kept


def _lowest(draws: _Draws, count: int) -> _Draws:
    """Return the `count` lowest sources; of each, the pair with the lowest key."""
    draws = draws[np.lexsort([draws[name] for name in reversed(_DRAW.names or ())])]
    is_new = np.ones(len(draws), dtype=bool)
    is_new[1:] = (np.diff(draws["rank"]) != 0) | (np.diff(draws["low"]) != 0)
    return draws[is_new][:count]
