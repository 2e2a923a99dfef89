"""Mark near-duplicate pairs in a corpus; the first of several similar pairs is kept.

Bands of MinHash signatures select candidate pairs; a pair is dropped only if the Jaccard similarity of the character
sequences of its texts is large enough. Bands are processed one after the other. In a band, all pairs with the same key
are compared with the first of them, then the dissimilar ones with the first of themselves, and so on for a few rounds,
so the work is linear in the number of pairs. A pair that others are compared with is kept in that band, so the result
of one key does not depend on another.

Before that, in all bands, pairs are compared with pairs that were drawn as held-out sets, at any position: pairs
similar to them are dropped, and held-out pairs never are.

A later band may drop a pair for which others were dropped. Those are compared with the pair kept instead, and are kept
again if they are not similar to it: each dropped pair has a similar pair that is kept.

`Links` points from each dropped pair to a similar one; `_settle_links` makes that a kept pair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.duplicates.decisions import (
    HELD_OUT,
    Decision,
    DecisionFile,
    DuplicateCount,
    mark_repeated_keys,
    part_ranges,
    read_drops,
    write_drops,
)
from dragoman.data.duplicates.pair_keys import NARROW, KeyKind, read_keys, write_key_file
from dragoman.data.duplicates.stored_pairs import PairComparer, band_keys, bands_for
from dragoman.data.reason_counts import MAX_EXAMPLES
from dragoman.data.worker_processes import IN_PROCESS, ProgressCallback, Workers, step_progress

NEAR_KEYS: tuple[KeyKind, ...] = ("folded_pair",)
"""Kinds of keys, in addition to the bands, that `mark_near_duplicates` reads."""

_ROUNDS = 4  # number of pairs per key that others are compared with
_ROWS_AT_ONCE = 1 << 22  # pairs of one key are processed in slabs of this size

_Keys = NDArray[np.uint64]
_Positions = NDArray[np.int64]
_Slab = tuple[_Keys, _Positions]
_NOTHING: _Slab = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class _Task:
    """One range of parts of one band of all chunks."""

    band_files: Sequence[Path]
    band: str
    parts: tuple[int, int]
    comparer: PairComparer
    decisions: Path
    drops: Path


def write_bands(frame: pl.DataFrame, path: Path, similarity: float) -> None:
    """Write the band keys of a chunk's pairs (columns source and target) to a file."""
    keys = band_keys(frame, bands_for(similarity))
    kinds = {}
    for band in range(keys.shape[1]):
        records = np.empty(len(keys), dtype=NARROW)
        records["high"], records["row"] = keys[:, band], np.arange(len(keys))
        kinds[_name(band)] = records
    write_key_file(path, kinds)


def mark_near_duplicates(
    chunk_files: Sequence[Path],
    key_files: Sequence[Path],
    band_files: Sequence[Path],
    starts: Sequence[int],
    decisions: DecisionFile,
    *,
    similarity: float,
    workers: Workers = IN_PROCESS,
    progress: ProgressCallback | None = None,
) -> DuplicateCount:
    """Mark pairs with at least `similarity`, for which the bands are, to an earlier kept or a held-out pair."""
    bands = bands_for(similarity)
    comparer = PairComparer(list(chunk_files), list(starts), similarity)
    links = Links.create(decisions.path.with_name(decisions.path.name + ".links"), decisions.rows)
    sweeps = (_find_like_held_out, _find_like_first) if decisions.any_held_out() else (_find_like_first,)
    steps = len(sweeps) * bands.count + 2
    # Most near-duplicates are equal when folded; they need neither texts nor bands.
    share = step_progress(progress, 0, steps)
    same = mark_repeated_keys(workers, key_files, starts, "folded_pair", Decision.NEAR_DUPLICATE, decisions, share)
    for done, (find, band) in enumerate(product(sweeps, range(bands.count)), start=1):
        tasks = [
            _Task(list(band_files), _name(band), parts, comparer, decisions.path, decisions.drop_path(number))
            for number, parts in enumerate(part_ranges(decisions.rows))
        ]
        found_all = workers.run_all(find, tasks, step_progress(progress, done, steps))
        for task, _ in zip(tasks, found_all, strict=True):
            for dropped, instead in read_drops(task.drops, columns=2):
                decisions.bytes[dropped] = Decision.NEAR_DUPLICATE
                links.set(dropped, instead)
        decisions.flush()
    found = _settle_links(comparer, decisions, links, step_progress(progress, steps - 1, steps))
    found.add(DuplicateCount(same.count, [(later, links.kept_for(first)) for later, first in same.examples]))
    links.path.unlink()
    return found


def _name(band: int) -> str:
    return f"band{band}"


def _find_like_held_out(task: _Task) -> None:
    decisions = DecisionFile(task.decisions, writable=False)
    held_out = _held_out(task, decisions)
    with write_drops(task.drops) as add_drops:
        for keys, positions in _chunks(task, decisions, Decision.KEPT):
            add_drops(*_like_held_out(keys, positions, held_out, task.comparer))


def _find_like_first(task: _Task) -> None:
    decisions = DecisionFile(task.decisions, writable=False)
    compared = _NOTHING
    with write_drops(task.drops) as add_drops:
        for slab in _slabs(task, decisions):
            keys, positions = _joined([compared, slab])
            dropped, instead = _like_first(keys, positions, task.comparer)
            add_drops(dropped, instead)
            compared = _first_of_each(keys, positions, dropped)


def _held_out(task: _Task, decisions: DecisionFile) -> _Slab:
    """Return keys and positions of held-out pairs, sorted by key, equal keys in corpus order."""
    keys, positions = _joined(list(_chunks(task, decisions, *HELD_OUT)))
    order = np.lexsort((positions, keys))
    return keys[order], positions[order]


def _slabs(task: _Task, decisions: DecisionFile) -> Iterator[_Slab]:
    """Yield keys and positions of kept pairs, many chunks at a time, in corpus order."""
    slab: list[_Slab] = []
    rows = 0
    for chunk in _chunks(task, decisions, Decision.KEPT):
        slab.append(chunk)
        rows += len(chunk[0])
        if rows >= _ROWS_AT_ONCE:
            yield _joined(slab)
            slab, rows = [], 0
    if slab:
        yield _joined(slab)


def _chunks(task: _Task, decisions: DecisionFile, *wanted: Decision) -> Iterator[_Slab]:
    for path, start in zip(task.band_files, task.comparer.starts, strict=True):
        records = read_keys(path, task.band, *task.parts)
        positions = records["row"].astype(np.int64) + start
        is_wanted = np.isin(decisions.bytes[positions], wanted)
        yield records["high"][is_wanted], positions[is_wanted]


def _joined(slabs: list[_Slab]) -> _Slab:
    keys, positions = zip(_NOTHING, *slabs, strict=True)
    return np.concatenate(keys), np.concatenate(positions)


def _like_held_out(
    keys: _Keys, positions: _Positions, held_out: _Slab, comparer: PairComparer
) -> tuple[_Positions, _Positions]:
    """Return pairs similar to one of the first held-out pairs with their key, and that pair for each."""
    dropped, instead = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    begin, end = np.searchsorted(held_out[0], keys, side="left"), np.searchsorted(held_out[0], keys, side="right")
    for _ in range(_ROUNDS):
        is_open = begin < end
        positions, begin, end = positions[is_open], begin[is_open], end[is_open]
        against = held_out[1][begin]
        is_similar = comparer.are_similar(positions, against)
        dropped.append(positions[is_similar])
        instead.append(against[is_similar])
        positions, begin, end = positions[~is_similar], begin[~is_similar] + 1, end[~is_similar]
    return np.concatenate(dropped), np.concatenate(instead)


def _like_first(keys: _Keys, positions: _Positions, comparer: PairComparer) -> tuple[_Positions, _Positions]:
    """Return the pairs to drop, and the similar pair of each; equal keys are in corpus order."""
    order = np.argsort(keys, kind="stable")
    keys, positions = keys[order], positions[order]
    dropped, kept = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for _ in range(_ROUNDS):
        is_first, firsts = _firsts(keys)
        keys, others, against = keys[~is_first], positions[~is_first], positions[firsts][~is_first]
        if not len(others):
            break
        is_similar = comparer.are_similar(others, against)
        dropped.append(others[is_similar])
        kept.append(against[is_similar])
        keys, positions = keys[~is_similar], others[~is_similar]
    return np.concatenate(dropped), np.concatenate(kept)


def _firsts(keys: _Keys) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which of the sorted keys are first occurrences, and the index of the first occurrence of each key."""
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = np.diff(keys) != 0
    return is_first, np.flatnonzero(is_first)[np.cumsum(is_first) - 1]


def _first_of_each(keys: _Keys, positions: _Positions, dropped: _Positions) -> _Slab:
    """Return the pairs that later pairs are compared with: of each key, the first few that were not dropped."""
    is_kept = ~np.isin(positions, dropped)
    keys, positions = keys[is_kept], positions[is_kept]
    order = np.argsort(keys, kind="stable")
    keys, positions = keys[order], positions[order]
    _, firsts = _firsts(keys)
    is_early = np.arange(len(keys)) - firsts < _ROUNDS
    return keys[is_early], positions[is_early]


_BLOCK = 1 << 18  # pairs settled at once


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


def _settle_links(
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
