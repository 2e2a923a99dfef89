"""Near-duplicates over a whole corpus: of pairs that are nearly the same, the first is kept.

MinHash signatures, cut into bands, say which pairs may be alike; a pair is dropped only if the share of common
character sequences, counted on the texts, says so too. Bands are looked at one after the other. In a band every pair
that shares a key is compared with the first pair that has it, then those that are not like it with the first of
themselves, and so on for a few rounds: work is linear, however many pairs share a key. A pair that others are compared
with is kept in that band, so what is decided about one key does not depend on another.

Before that, in all bands, pairs are compared with those that were taken out of the corpus as held-out sets, wherever
these stand: what is like one of them is dropped, and they themselves never are.

A later band may drop a pair that others were dropped for. Those are then compared with the pair that is kept in its
stead, and come back if they are not like that one: each pair that is dropped has a pair like it that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.duplicates.exact import Repeats, mark_repeats, part_ranges
from dragoman.data.duplicates.fates import HELD_OUT, Fate, Fates
from dragoman.data.duplicates.key_file import NARROW, read_keys, write_key_file
from dragoman.data.duplicates.keys import KeyKind
from dragoman.data.duplicates.likeness import Comparer
from dragoman.data.duplicates.links import Links, settle
from dragoman.data.duplicates.shingles import band_keys, bands_for
from dragoman.data.workers import ALONE, Share, Workers, step_of

__all__ = ["NEAR_KEYS", "mark_near_duplicates", "write_bands"]

NEAR_KEYS: tuple[KeyKind, ...] = ("folded_pair",)
"""The kinds of keys, beside the bands, that `mark_near_duplicates` reads."""

_ROUNDS = 4  # so many pairs of a key others are compared with
_ROWS_AT_ONCE = 1 << 22  # a key that more pairs have is looked at in several goes

_Keys = NDArray[np.uint64]
_Positions = NDArray[np.int64]
_Slab = tuple[_Keys, _Positions]
_NOTHING: _Slab = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class _Task:
    """One range of the parts of one band, of all chunks."""

    band_files: Sequence[Path]
    band: str
    parts: tuple[int, int]
    comparer: Comparer
    fates: Path
    links: Path


def write_bands(frame: pl.DataFrame, path: Path, similarity: float) -> None:
    """Write the keys of the bands of a chunk's pairs (columns source and target) to a file beside it."""
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
    fates: Fates,
    *,
    similarity: float,
    workers: Workers = ALONE,
    progress: Share | None = None,
) -> Repeats:
    """Mark pairs that are as alike as `similarity` to an earlier pair that is kept, or to a held-out one.

    Texts are read from `chunk_files` (Arrow, columns source and target). `starts` are the positions of the chunks'
    first pairs in the corpus. The bands must have been written for the same similarity.
    """
    bands = bands_for(similarity)
    comparer = Comparer(list(chunk_files), list(starts), similarity)
    links = Links.create(fates.path.with_name(fates.path.name + ".links"), fates.rows)
    sweeps = (_mark_like_held_out, _mark_like_first) if fates.any_held_out() else (_mark_like_first,)
    steps = len(sweeps) * bands.count + 2
    # Pairs that are the same when folded are most of all; they need no texts, and no bands.
    share = step_of(progress, 0, steps)
    same = mark_repeats(workers, key_files, starts, "folded_pair", Fate.NEAR_DUPLICATE, fates, share)
    for done, (mark, band) in enumerate(product(sweeps, range(bands.count)), start=1):
        tasks = [
            _Task(list(band_files), _name(band), parts, comparer, fates.path, links.path)
            for parts in part_ranges(fates.rows)
        ]
        for _ in workers.run_all(mark, tasks, step_of(progress, done, steps)):
            pass
    found = settle(comparer, fates, links, step_of(progress, steps - 1, steps))
    found.add(Repeats(same.count, [(later, links.kept_for(first)) for later, first in same.examples]))
    links.path.unlink()
    return found


def _name(band: int) -> str:
    return f"band{band}"


def _mark_like_held_out(task: _Task) -> None:
    fates, links = Fates(task.fates), Links(task.links)
    held_out = _held_out(task, fates)
    for keys, positions in _chunks(task, fates, Fate.KEPT):
        _drop(*_like_held_out(keys, positions, held_out, task.comparer), fates, links)


def _mark_like_first(task: _Task) -> None:
    fates, links = Fates(task.fates), Links(task.links)
    compared = _NOTHING
    for slab in _slabs(task, fates):
        keys, positions = _joined([compared, slab])
        _drop(*_like_first(keys, positions, task.comparer), fates, links)
        compared = _first_of_each(keys, positions, fates)


def _drop(dropped: _Positions, instead: _Positions, fates: Fates, links: Links) -> None:
    fates.bytes[dropped] = Fate.NEAR_DUPLICATE
    links.set(dropped, instead)


def _held_out(task: _Task, fates: Fates) -> _Slab:
    """The keys and positions of pairs that are held out, sorted by key, equal keys in the order of the corpus."""
    keys, positions = _joined(list(_chunks(task, fates, *HELD_OUT)))
    order = np.lexsort((positions, keys))
    return keys[order], positions[order]


def _slabs(task: _Task, fates: Fates) -> Iterator[_Slab]:
    """The keys and positions of pairs that are still kept, many chunks at a time, in the order of the corpus."""
    slab: list[_Slab] = []
    rows = 0
    for chunk in _chunks(task, fates, Fate.KEPT):
        slab.append(chunk)
        rows += len(chunk[0])
        if rows >= _ROWS_AT_ONCE:
            yield _joined(slab)
            slab, rows = [], 0
    if slab:
        yield _joined(slab)


def _chunks(task: _Task, fates: Fates, *wanted: Fate) -> Iterator[_Slab]:
    for path, start in zip(task.band_files, task.comparer.starts, strict=True):
        records = read_keys(path, task.band, *task.parts)
        positions = records["row"].astype(np.int64) + start
        is_wanted = np.isin(fates.bytes[positions], wanted)
        yield records["high"][is_wanted], positions[is_wanted]


def _joined(slabs: list[_Slab]) -> _Slab:
    keys, positions = zip(_NOTHING, *slabs, strict=True)
    return np.concatenate(keys), np.concatenate(positions)


def _like_held_out(
    keys: _Keys, positions: _Positions, held_out: _Slab, comparer: Comparer
) -> tuple[_Positions, _Positions]:
    """The pairs that are like one of the first few held-out pairs of their key, and for each that one."""
    dropped, instead = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    begin, end = np.searchsorted(held_out[0], keys, side="left"), np.searchsorted(held_out[0], keys, side="right")
    for _ in range(_ROUNDS):
        is_open = begin < end
        positions, begin, end = positions[is_open], begin[is_open], end[is_open]
        against = held_out[1][begin]
        is_alike = comparer.are_alike(positions, against)
        dropped.append(positions[is_alike])
        instead.append(against[is_alike])
        positions, begin, end = positions[~is_alike], begin[~is_alike] + 1, end[~is_alike]
    return np.concatenate(dropped), np.concatenate(instead)


def _like_first(keys: _Keys, positions: _Positions, comparer: Comparer) -> tuple[_Positions, _Positions]:
    """The pairs to drop, and for each the one it is like; equal keys are in the order of the corpus."""
    order = np.argsort(keys, kind="stable")
    keys, positions = keys[order], positions[order]
    dropped, kept = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for _ in range(_ROUNDS):
        is_first, firsts = _firsts(keys)
        keys, others, against = keys[~is_first], positions[~is_first], positions[firsts][~is_first]
        if not len(others):
            break
        is_alike = comparer.are_alike(others, against)
        dropped.append(others[is_alike])
        kept.append(against[is_alike])
        keys, positions = keys[~is_alike], others[~is_alike]
    return np.concatenate(dropped), np.concatenate(kept)


def _firsts(keys: _Keys) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Which of the sorted keys are the first of their kind, and where the first of each one's kind is."""
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = np.diff(keys) != 0
    return is_first, np.flatnonzero(is_first)[np.cumsum(is_first) - 1]


def _first_of_each(keys: _Keys, positions: _Positions, fates: Fates) -> _Slab:
    """What later pairs are to be compared with: of each key the first few that are kept."""
    is_kept = fates.bytes[positions] == Fate.KEPT
    keys, positions = keys[is_kept], positions[is_kept]
    order = np.argsort(keys, kind="stable")
    keys, positions = keys[order], positions[order]
    _, firsts = _firsts(keys)
    is_early = np.arange(len(keys)) - firsts < _ROUNDS
    return keys[is_early], positions[is_early]
