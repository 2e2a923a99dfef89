"""Exact duplicates over a whole corpus: the first pair, source or target in its order is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.fates import Fate, Fates
from dragoman.data.duplicates.key_file import PARTS, WIDE, Records, read_keys
from dragoman.data.tally import MOST_EXAMPLES
from dragoman.data.workers import ALONE, Share, Workers, step_of

__all__ = ["Repeats", "mark_duplicates", "mark_repeats", "part_ranges"]

_FATE = {"pair": Fate.DUPLICATE_PAIR, "source": Fate.DUPLICATE_SOURCE, "target": Fate.DUPLICATE_TARGET}
_ROWS_A_TASK = 1 << 20  # about 100 MB at work

_Positions = NDArray[np.int64]


@dataclass
class Repeats:
    """How many pairs were dropped, and the first few: the position of each and of the one that is kept instead."""

    count: int = 0
    examples: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: Repeats) -> None:
        """Take in what another part of the keys gave."""
        self.count += other.count
        self.examples = sorted(self.examples + other.examples)[:MOST_EXAMPLES]


@dataclass(frozen=True)
class _Task:
    """One range of parts, of all chunks."""

    key_files: Sequence[Path]
    starts: Sequence[int]
    kind: str
    fate: Fate
    fates: Path
    parts: tuple[int, int]


def mark_duplicates(
    key_files: Sequence[Path],
    starts: Sequence[int],
    kinds: Iterable[str],
    fates: Fates,
    *,
    workers: Workers = ALONE,
    progress: Share | None = None,
) -> dict[str, Repeats]:
    """Mark pairs whose text, source or target an earlier pair has that is kept.

    `kinds` are some of pair, source and target, and are looked at in this order; `starts` are the positions of the
    chunks' first pairs in the corpus.
    """
    ordered = [kind for kind in _FATE if kind in set(kinds)]
    found = {}
    for done, kind in enumerate(ordered):
        share = step_of(progress, done, len(ordered))
        found[kind] = mark_repeats(workers, key_files, starts, kind, _FATE[kind], fates, share)
    return found


def mark_repeats(
    workers: Workers,
    key_files: Sequence[Path],
    starts: Sequence[int],
    kind: str,
    fate: Fate,
    fates: Fates,
    progress: Share | None = None,
) -> Repeats:
    """Give `fate` to every pair whose key of this kind an earlier pair has; both must have been kept so far."""
    tasks = [_Task(list(key_files), list(starts), kind, fate, fates.path, parts) for parts in part_ranges(fates.rows)]
    repeats = Repeats()
    for found in workers.run_all(_mark_parts, tasks, progress):
        repeats.add(found)
    return repeats


def part_ranges(rows: int) -> list[tuple[int, int]]:
    """Cut the parts into ranges that hold about a million keys together, or one part if that has more."""
    step = min(PARTS, max(1, PARTS * _ROWS_A_TASK // max(1, rows)))
    return [(first, min(first + step, PARTS)) for first in range(0, PARTS, step)]


def _mark_parts(task: _Task) -> Repeats:
    fates = Fates(task.fates)
    repeats = Repeats()
    firsts = [(np.empty(0, dtype=WIDE), np.empty(0, dtype=np.int64))]
    for path, start in zip(task.key_files, task.starts, strict=True):
        keys = read_keys(path, task.kind, *task.parts)
        positions = keys["row"].astype(np.int64) + start
        is_kept = fates.bytes[positions] == Fate.KEPT
        keys, positions = keys[is_kept], positions[is_kept]
        # Once here, once over all chunks: a key that half the corpus has then takes one row a chunk, not half of all.
        later, earlier = _repeated(keys, positions)
        fates.bytes[positions[later]] = task.fate
        repeats.add(_summary(positions[later], positions[earlier]))
        is_first = np.ones(len(keys), dtype=bool)
        is_first[later] = False
        firsts.append((keys[is_first], positions[is_first]))
    keys, positions = (np.concatenate(column) for column in zip(*firsts, strict=True))
    del firsts
    later, earlier = _repeated(keys, positions)
    dropped, kept = positions[later], positions[earlier]
    fates.bytes[dropped] = task.fate
    # What was the first of its chunk may not be the first of all.
    repeats.examples = [(place, _instead(dropped, kept, first)) for place, first in repeats.examples]
    repeats.add(_summary(dropped, kept))
    return repeats


def _repeated(keys: Records, positions: _Positions) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where keys stand that have come before, and where each of them came first; keys are in order of position."""
    high = keys["high"].copy()
    order = np.argsort(high, kind="stable")
    is_same = np.diff(high[order]) == 0
    is_shared = np.zeros(len(keys), dtype=bool)
    is_shared[1:] |= is_same
    is_shared[:-1] |= is_same
    shared = order[is_shared]  # half of the key is the same: nearly always all of it
    low = keys["low"]
    shared = shared[np.lexsort((positions[shared], low[shared], high[shared]))]
    is_new = np.ones(len(shared), dtype=bool)
    is_new[1:] = (np.diff(high[shared]) != 0) | (np.diff(low[shared]) != 0)
    firsts = shared[is_new][np.cumsum(is_new) - 1]
    return shared[~is_new], firsts[~is_new]


def _summary(dropped: _Positions, kept: _Positions) -> Repeats:
    lowest = np.argsort(dropped)[:MOST_EXAMPLES]
    return Repeats(len(dropped), list(zip(dropped[lowest].tolist(), kept[lowest].tolist(), strict=True)))


def _instead(dropped: _Positions, kept: _Positions, position: int) -> int:
    """The pair that is kept instead of this one, or this one if it is not dropped."""
    places = np.flatnonzero(dropped == position)
    return int(kept[places[0]]) if len(places) else position
