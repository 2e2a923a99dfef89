"""Leakage: training pairs that a validation or test set holds too, wholly or on one side.

Scores on sentences that were trained on say nothing. Sides are compared without case, blanks and punctuation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.duplicates.fates import Fate, Fates
from dragoman.data.duplicates.key_file import Records, read_keys
from dragoman.data.duplicates.keys import KeyKind, frame_keys
from dragoman.data.tally import MOST_EXAMPLES, Example, Tally
from dragoman.data.workers import ALONE, Share, Workers

__all__ = ["HeldOut", "LEAK_KEYS", "LeakRule", "Leakage", "Locate", "mark_leaks"]

LEAK_KEYS: tuple[KeyKind, ...] = ("pair", "folded_source", "folded_target")
"""The kinds of keys that `mark_leaks` reads."""

LeakRule = Literal["side", "pair", "keep"]
"""Drop pairs of which a side is held out, drop pairs that are held out, or only count the former."""

Locate = Callable[[int], Example]
"""Gives the pair at a position of the corpus: its file, line and texts."""

_CHUNKS_A_TASK = 8

_Hits = NDArray[np.int64]  # of each row of a chunk: the place of the held-out key that it matches, or -1


class HeldOut:
    """A set that training must not see: its pairs (columns source, target, line, file) and what reports call it."""

    def __init__(self, name: str, parts: Iterable[tuple[str, pl.DataFrame]]) -> None:
        self.name = name
        schema = pl.Schema({"source": pl.String, "target": pl.String, "line": pl.UInt32, "file": pl.String})
        frames = [
            part.with_columns(file=pl.lit(file, dtype=pl.String)).select(*schema).cast(schema) for file, part in parts
        ]
        self.frame = pl.concat([pl.DataFrame(schema=schema), *frames])

    @cached_property
    def keys(self) -> dict[str, _Wanted]:
        """The keys to look for, by kind."""
        return {kind: _Wanted.of(records) for kind, records in frame_keys(self.frame, LEAK_KEYS).items()}

    def place(self, row: int) -> str:
        """Where a pair of the set stands, as file:line."""
        return f"{self.frame['file'][row]}:{self.frame['line'][row]}"


@dataclass
class Leakage:
    """What training shares with one held-out set."""

    pairs: Tally = field(default_factory=Tally)
    """Training pairs, by what they share: pair, both sides (of different pairs), source, target.

    A pair that several sets share counts for the first of them.
    """
    held_out: dict[str, int] = field(default_factory=dict)
    """Held-out pairs that training has as a pair, and whose source or target it has."""


@dataclass(frozen=True)
class _Wanted:
    """The different keys of a set, sorted; of each the first row that has it, of each row the place of its key."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    rows: NDArray[np.intp]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, records: Records) -> _Wanted:
        keys, rows, places = np.unique(records[["high", "low"]], return_index=True, return_inverse=True)
        return cls(keys["high"].copy(), keys["low"].copy(), rows, places)

    def hits(self, records: Records) -> _Hits:
        """Look for the keys among a chunk's, which are sorted."""
        high = records["high"].copy()
        begin, end = np.searchsorted(high, self.high, side="left"), np.searchsorted(high, self.high, side="right")
        counts = end - begin
        wanted = np.repeat(np.arange(len(counts)), counts)
        found = np.arange(counts.sum()) + np.repeat(begin - np.cumsum(counts) + counts, counts)
        is_equal = records["low"][found] == self.low[wanted]
        hits = np.full(len(records), -1, dtype=np.int64)
        hits[records["row"][found[is_equal]]] = wanted[is_equal]
        return hits


@dataclass(frozen=True)
class _Task:
    """Some chunks, and the keys of all held-out sets."""

    key_files: Sequence[Path]
    starts: Sequence[int]
    sets: Sequence[dict[str, _Wanted]]
    fates: Path
    rule: LeakRule


@dataclass
class _Found:
    """What one set shares with some chunks: counts and first places by kind, and which of its keys were met."""

    counts: dict[str, int]
    places: dict[str, list[tuple[int, int]]]
    met: dict[str, NDArray[np.bool_]]

    def add(self, later: _Found) -> None:
        for kind, count in later.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
            self.places[kind] = (self.places.get(kind, []) + later.places[kind])[:MOST_EXAMPLES]
        for kind, met in later.met.items():
            self.met[kind] |= met


def mark_leaks(
    key_files: Sequence[Path],
    starts: Sequence[int],
    held_out: Sequence[HeldOut],
    fates: Fates,
    *,
    rule: LeakRule = "side",
    locate: Locate | None = None,
    workers: Workers = ALONE,
    progress: Share | None = None,
) -> dict[str, Leakage]:
    """Mark training pairs that a held-out set shares, and say of each set what was found.

    `starts` are the positions of the chunks' first pairs in the corpus. With `locate`, examples name both places.
    """
    sets = [each.keys for each in held_out]
    tasks = [
        _Task(key_files[at : at + _CHUNKS_A_TASK], starts[at : at + _CHUNKS_A_TASK], sets, fates.path, rule)
        for at in range(0, len(key_files), _CHUNKS_A_TASK)
    ]
    totals = [_nothing(keys) for keys in sets]
    for found in workers.run_all(_mark_chunks, tasks, progress):
        for total, part in zip(totals, found, strict=True):
            total.add(part)
    return {each.name: _leakage(each, found, locate) for each, found in zip(held_out, totals, strict=True)}


def _nothing(keys: dict[str, _Wanted]) -> _Found:
    return _Found({}, {}, {kind: np.zeros(len(wanted.high), dtype=bool) for kind, wanted in keys.items()})


def _mark_chunks(task: _Task) -> list[_Found]:
    fates = Fates(task.fates)
    totals = [_nothing(keys) for keys in task.sets]
    for path, start in zip(task.key_files, task.starts, strict=True):
        records = {kind: read_keys(path, kind) for kind in LEAK_KEYS}
        view = fates.chunk(start, len(records["pair"]))
        is_kept = view == Fate.KEPT
        is_leaked = np.zeros(len(view), dtype=bool)
        for keys, total in zip(task.sets, totals, strict=True):
            hits: dict[str, _Hits] = {kind: np.where(is_kept, keys[kind].hits(records[kind]), -1) for kind in LEAK_KEYS}
            found, shared = _sort_out(hits, keys, start, task.rule, ~is_leaked)
            total.add(found)
            is_leaked |= shared
        if task.rule != "keep":
            view[is_leaked] = Fate.LEAKED
    return totals


def _sort_out(
    hits: dict[str, _Hits], keys: dict[str, _Wanted], start: int, rule: LeakRule, is_new: NDArray[np.bool_]
) -> tuple[_Found, NDArray[np.bool_]]:
    """What a chunk shares with a set, and which of its rows do; those that are not new count for an earlier set."""
    pair, source, target = ((hits[kind] >= 0) & is_new for kind in LEAK_KEYS)
    kinds = {"pair": (pair, "pair")}
    if rule != "pair":
        kinds["both sides"] = (source & target & ~pair, "folded_source")
        kinds["source"] = (source & ~target, "folded_source")
        kinds["target"] = (target & ~source, "folded_target")
    found = _nothing(keys)
    for name, (is_so, kind) in kinds.items():
        rows = np.flatnonzero(is_so)
        if len(rows):
            few = rows[:MOST_EXAMPLES]
            found.counts[name] = len(rows)
            found.places[name] = list(
                zip((few + start).tolist(), keys[kind].rows[hits[kind][few]].tolist(), strict=True)
            )
    for kind, places in hits.items():
        found.met[kind][places[places >= 0]] = True
    return found, np.logical_or.reduce([is_so for is_so, _ in kinds.values()])


def _leakage(held_out: HeldOut, found: _Found, locate: Locate | None) -> Leakage:
    leakage = Leakage()
    for kind, count in found.counts.items():
        examples = [] if locate is None else [_example(held_out, locate, *places) for places in found.places[kind]]
        leakage.pairs.add(kind, count, examples)
    for kind, name in zip(LEAK_KEYS, ("pair", "source", "target"), strict=True):
        leakage.held_out[name] = int(found.met[kind][held_out.keys[kind].places].sum())
    return leakage


def _example(held_out: HeldOut, locate: Locate, position: int, row: int) -> Example:
    pair = locate(position)
    return Example(pair.file, pair.line, pair.source, pair.target, f"held out at {held_out.place(row)}")
