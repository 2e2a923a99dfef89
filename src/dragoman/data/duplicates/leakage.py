"""Leakage: training pairs that a validation or test set holds too, wholly or on one side.

Scores on sentences that were trained on say nothing. Texts are compared without case, blanks and punctuation (`fold`);
pairs that are the same to the letter are counted apart.
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
from dragoman.data.pairs import SIDES
from dragoman.data.tally import MOST_EXAMPLES, Example, Tally
from dragoman.data.workers import ALONE, Share, Workers

__all__ = ["HeldOut", "LEAK_KEYS", "LeakRule", "Leakage", "Locate", "OtherForm", "mark_leaks"]

LEAK_KEYS: tuple[KeyKind, ...] = ("pair", "folded_pair", "folded_source", "folded_target")
"""The kinds of keys that `mark_leaks` reads."""

LeakRule = Literal["side", "pair", "keep"]
"""Drop pairs of which a side is held out, drop pairs that are held out, or only count the former."""

OtherForm = Callable[[pl.DataFrame], pl.DataFrame]
"""Gives pairs in another form, row by row: what cleaning would have made of them had they been training pairs."""

Locate = Callable[[int], Example]
"""Gives the pair at a position of the corpus: its file, line and texts."""

_CHUNKS_A_TASK = 8
_FOLDED = "pair but for case and punctuation"

_Hits = NDArray[np.int64]  # of each row of a chunk: the place of the held-out key that it matches, or -1


class HeldOut:
    """A set that training must not see: its pairs (columns source, target, line, file) and what reports call it.

    Training text is mended before its keys are made, and held-out text is not. With `also`, which is given each part
    with all its columns, a training pair that is the same as the other form of a held-out pair leaks as much as one
    that is the same as the pair itself.
    """

    def __init__(self, name: str, parts: Iterable[tuple[str, pl.DataFrame]], also: OtherForm | None = None) -> None:
        self.name = name
        schema = pl.Schema({**dict.fromkeys(SIDES, pl.String), "line": pl.UInt32, "file": pl.String})
        frames, others = [pl.DataFrame(schema=schema)], [pl.DataFrame(schema=dict.fromkeys(SIDES, pl.String))]
        for file, part in parts:
            frames.append(part.with_columns(file=pl.lit(file, dtype=pl.String)).select(*schema).cast(schema))
            if also is not None:
                others.append(also(part).select(SIDES))
                assert others[-1].height == part.height, "another form must have the same rows"
        self.frame = pl.concat(frames)
        self._forms = [self.frame] if also is None else [self.frame, pl.concat(others)]

    @cached_property
    def keys(self) -> dict[str, _Wanted]:
        """The keys to look for, by kind."""
        forms = [frame_keys(form, LEAK_KEYS) for form in self._forms]
        return {kind: _Wanted.of([form[kind] for form in forms]) for kind in LEAK_KEYS}

    def place(self, row: int) -> str:
        """Where a pair of the set stands, as file:line."""
        return f"{self.frame['file'][row]}:{self.frame['line'][row]}"


@dataclass
class Leakage:
    """What training shares with one held-out set."""

    pairs: Tally = field(default_factory=Tally)
    """Training pairs, by what they share: pair (to the letter), pair but for case and punctuation, both sides (of
    different pairs), source, target; each pair counts once.

    A pair that several sets share counts for the first of them.
    """
    held_out: dict[str, int] = field(default_factory=dict)
    """Held-out pairs by what training has of them: the pair to the letter, the pair but for case and punctuation (or
    to the letter), the source, the target. A held-out pair may count in all of them."""


@dataclass(frozen=True)
class _Wanted:
    """The different keys of a set, sorted; of each the first row that has it, of each row the places of its keys."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    rows: NDArray[np.intp]
    places: NDArray[np.intp]  # [forms, rows]

    @classmethod
    def of(cls, forms: Sequence[Records]) -> _Wanted:
        """Put together the keys of all forms of the same rows."""
        records = np.concatenate(forms)
        keys, firsts, places = np.unique(records[["high", "low"]], return_index=True, return_inverse=True)
        rows = records["row"][firsts].astype(np.intp)
        return cls(keys["high"].copy(), keys["low"].copy(), rows, places.reshape(len(forms), -1))

    def rows_met(self, is_met: NDArray[np.bool_]) -> int:
        """How many rows have a key that was met, in any form."""
        return int(is_met[self.places].any(axis=0).sum())

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
    exact, pair, source, target = ((hits[kind] >= 0) & is_new for kind in LEAK_KEYS)
    kinds = {"pair": (exact, "pair"), _FOLDED: (pair & ~exact, "folded_pair")}
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
    for kind, name in zip(LEAK_KEYS, ("pair", _FOLDED, "source", "target"), strict=True):
        leakage.held_out[name] = held_out.keys[kind].rows_met(found.met[kind])
    return leakage


def _example(held_out: HeldOut, locate: Locate, position: int, row: int) -> Example:
    pair = locate(position)
    return Example(pair.file, pair.line, pair.source, pair.target, f"held out at {held_out.place(row)}")
