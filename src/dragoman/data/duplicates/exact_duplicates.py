"""Mark pairs whose source, target or both equal those of an earlier pair; the first is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.drop_decisions import AddDrops, Decision, DecisionFile, read_drops, write_drops
from dragoman.data.duplicates.pair_keys import PARTS, WIDE, Records, read_keys
from dragoman.data.reason_counts import MAX_EXAMPLES
from dragoman.data.worker_processes import IN_PROCESS, ProgressCallback, Workers, step_progress

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
