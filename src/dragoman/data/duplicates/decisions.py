"""Store the decision on each pair as one byte in a file; draw held-out pairs, and mark duplicates of earlier pairs.

Only the main process changes the decisions. Tasks read them and write the pairs that they drop to a file of their own,
so a task whose worker was lost can run again, on another machine too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.pair_keys import PARTS, WIDE, KeyKind, Records, read_keys
from dragoman.data.permutation import mix, mix_seed
from dragoman.data.reason_counts import MAX_EXAMPLES
from dragoman.data.worker_processes import IN_PROCESS, ProgressCallback, Workers, step_progress
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


_DECISIONS = {"pair": Decision.DUPLICATE_PAIR, "source": Decision.DUPLICATE_SOURCE, "target": Decision.DUPLICATE_TARGET}
_ROWS_A_TASK = 1 << 20  # about 100 MB of memory

_Positions = NDArray[np.int64]


@dataclass
class DuplicateCount:
    """Number of dropped pairs, and examples: the position of each and of the pair kept instead."""

    count: int = 0
    examples: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: DuplicateCount) -> None:
        """Add the result of another part of the keys."""
        self.count += other.count
        self.examples = sorted(self.examples + other.examples)[:MAX_EXAMPLES]


@dataclass(frozen=True)
class _Task:
    """One range of key parts of all chunks."""

    key_files: Sequence[Path]
    starts: Sequence[int]
    kind: str
    decisions: Path
    drops: Path
    parts: tuple[int, int]


def mark_duplicates(
    key_files: Sequence[Path],
    starts: Sequence[int],
    kinds: Iterable[str],
    decisions: DecisionFile,
    *,
    workers: Workers = IN_PROCESS,
    progress: ProgressCallback | None = None,
) -> dict[str, DuplicateCount]:
    """Mark pairs whose text, source or target (`kinds`) equals that of an earlier kept pair."""
    ordered = [kind for kind in _DECISIONS if kind in set(kinds)]
    found = {}
    for done, kind in enumerate(ordered):
        share = step_progress(progress, done, len(ordered))
        found[kind] = mark_repeated_keys(workers, key_files, starts, kind, _DECISIONS[kind], decisions, share)
    return found


def mark_repeated_keys(
    workers: Workers,
    key_files: Sequence[Path],
    starts: Sequence[int],
    kind: str,
    decision: Decision,
    decisions: DecisionFile,
    progress: ProgressCallback | None = None,
) -> DuplicateCount:
    """Set `decision` for every kept pair whose key of this kind equals that of an earlier kept pair."""
    tasks = [
        _Task(list(key_files), list(starts), kind, decisions.path, decisions.drop_path(number), parts)
        for number, parts in enumerate(part_ranges(decisions.rows))
    ]
    repeats = DuplicateCount()
    for task, found in zip(tasks, workers.run_all(_find_repeats, tasks, progress), strict=True):
        for (dropped,) in read_drops(task.drops):
            decisions.bytes[dropped] = decision
        repeats.add(found)
    decisions.flush()
    return repeats


def part_ranges(rows: int) -> list[tuple[int, int]]:
    """Divide the parts into ranges of about a million keys, at least one part each."""
    step = min(PARTS, max(1, PARTS * _ROWS_A_TASK // max(1, rows)))
    return [(first, min(first + step, PARTS)) for first in range(0, PARTS, step)]


def _find_repeats(task: _Task) -> DuplicateCount:
    with write_drops(task.drops) as add_drops:
        return _repeats(task, DecisionFile(task.decisions, writable=False), add_drops)


def _repeats(task: _Task, decisions: DecisionFile, add_drops: AddDrops) -> DuplicateCount:
    repeats = DuplicateCount()
    firsts = [(np.empty(0, dtype=WIDE), np.empty(0, dtype=np.int64))]
    for path, start in zip(task.key_files, task.starts, strict=True):
        keys = read_keys(path, task.kind, *task.parts)
        positions = keys["row"].astype(np.int64) + start
        is_kept = decisions.bytes[positions] == Decision.KEPT
        keys, positions = keys[is_kept], positions[is_kept]
        # First within the chunk, then over all chunks: a frequent key then takes one row per chunk.
        later, earlier = _repeated(keys, positions)
        add_drops(positions[later])
        repeats.add(_summary(positions[later], positions[earlier]))
        is_first = np.ones(len(keys), dtype=bool)
        is_first[later] = False
        firsts.append((keys[is_first], positions[is_first]))
    keys, positions = (np.concatenate(column) for column in zip(*firsts, strict=True))
    del firsts
    later, earlier = _repeated(keys, positions)
    dropped, kept = positions[later], positions[earlier]
    add_drops(dropped)
    # The first pair of its chunk may not be the first of all.
    repeats.examples = [(place, _instead(dropped, kept, first)) for place, first in repeats.examples]
    repeats.add(_summary(dropped, kept))
    return repeats


def _repeated(keys: Records, positions: _Positions) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of repeated keys, and the index of the first occurrence of each; keys are in order."""
    high = keys["high"].copy()
    order = np.argsort(high, kind="stable")
    is_same = np.diff(high[order]) == 0
    is_shared = np.zeros(len(keys), dtype=bool)
    is_shared[1:] |= is_same
    is_shared[:-1] |= is_same
    shared = order[is_shared]  # half of the key is equal: nearly always all of it
    low = keys["low"]
    shared = shared[np.lexsort((positions[shared], low[shared], high[shared]))]
    is_new = np.ones(len(shared), dtype=bool)
    is_new[1:] = (np.diff(high[shared]) != 0) | (np.diff(low[shared]) != 0)
    firsts = shared[is_new][np.cumsum(is_new) - 1]
    return shared[~is_new], firsts[~is_new]


def _summary(dropped: _Positions, kept: _Positions) -> DuplicateCount:
    lowest = np.argsort(dropped)[:MAX_EXAMPLES]
    return DuplicateCount(len(dropped), list(zip(dropped[lowest].tolist(), kept[lowest].tolist(), strict=True)))


def _instead(dropped: _Positions, kept: _Positions, position: int) -> int:
    """Return the pair that is kept instead of this one, or this one if it is not dropped."""
    places = np.flatnonzero(dropped == position)
    return int(kept[places[0]]) if len(places) else position
