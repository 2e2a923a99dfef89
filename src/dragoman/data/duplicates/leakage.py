"""Mark training pairs of which a folded side is in a held-out set, whose scores would mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.duplicates.decisions import AddDrops, Decision, DecisionFile, read_drops, write_drops
from dragoman.data.duplicates.pair_keys import KeyKind, Records, frame_keys, read_keys
from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.data.worker_processes import IN_PROCESS, ProgressCallback, Workers

LEAK_KEYS: tuple[KeyKind, ...] = ("pair", "folded_pair", "folded_source", "folded_target")
"""Kinds of keys that `mark_leaks` reads."""

LeakRule = Literal["side", "pair", "keep"]
"""Drop pairs with a held-out side, drop held-out pairs, or only count pairs with a held-out side."""

AlternativeForm = Callable[[pl.DataFrame], pl.DataFrame]
"""Returns pairs in another form, row by row: as cleaning would change them in training."""

Locate = Callable[[int], Example]
"""Returns the pair at a position of the corpus: its file, line and texts."""

_CHUNKS_A_TASK = 8
_FOLDED = "pair except for case and punctuation"

_Hits = NDArray[np.int64]  # per row of a chunk: index of the matching held-out key, or -1


class HeldOutPairs:
    """A held-out set: its pairs (columns source, target, line, file) and its name in reports.

    Training text is repaired before its keys are computed; held-out text is not. `also` receives each part with all its
    columns and returns its other form: a training pair equal to that form is a leak too. With `both_ways`, so is a
    training pair with its sides exchanged: corpora of several directions may have a language on either side.
    """

    def __init__(
        self,
        name: str,
        parts: Iterable[tuple[str, pl.DataFrame]],
        also: AlternativeForm | None = None,
        *,
        both_ways: bool = False,
    ) -> None:
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
        if both_ways:
            self._forms += [form.rename({"source": "target", "target": "source"}) for form in self._forms]

    @cached_property
    def keys(self) -> dict[str, _Wanted]:
        """The keys to search for, by kind."""
        forms = [frame_keys(form, LEAK_KEYS) for form in self._forms]
        return {kind: _Wanted.of([form[kind] for form in forms]) for kind in LEAK_KEYS}

    def place(self, row: int) -> str:
        """Return the location of a pair as file:line."""
        return f"{self.frame['file'][row]}:{self.frame['line'][row]}"


@dataclass
class Leakage:
    """Pairs that training shares with one held-out set."""

    pairs: Tally = field(default_factory=Tally)
    """Training pairs by what they share: pair (exactly), pair except for case and punctuation, both sides (of
    different pairs), source, target; each pair counts once.

    A pair shared with several sets counts for the first of them.
    """
    held_out: dict[str, int] = field(default_factory=dict)
    """Held-out pairs by what training contains: the exact pair, the pair except for case and punctuation (or exact),
    the source, the target. A held-out pair may count in all of them."""


@dataclass(frozen=True)
class _Wanted:
    """The distinct keys of a set, sorted; the first row of each key, and the key indices of each row."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    rows: NDArray[np.intp]
    places: NDArray[np.intp]  # [forms, rows]

    @classmethod
    def of(cls, forms: Sequence[Records]) -> _Wanted:
        """Combine the keys of all forms of the same rows."""
        records = np.concatenate(forms)
        keys, firsts, places = np.unique(records[["high", "low"]], return_index=True, return_inverse=True)
        rows = records["row"][firsts].astype(np.intp)
        return cls(keys["high"].copy(), keys["low"].copy(), rows, places.reshape(len(forms), -1))

    def rows_met(self, is_met: NDArray[np.bool_]) -> int:
        """Return the number of rows with a key that was found, in any form."""
        return int(is_met[self.places].any(axis=0).sum())

    def hits(self, records: Records) -> _Hits:
        """Find the keys among those of a chunk, which are sorted."""
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
    """A few chunks, and the keys of all held-out sets."""

    key_files: Sequence[Path]
    starts: Sequence[int]
    sets: Sequence[dict[str, _Wanted]]
    decisions: Path
    drops: Path
    rule: LeakRule


@dataclass
class _Found:
    """Pairs that one set shares with a few chunks: counts and examples by kind, and which of its keys were found."""

    counts: dict[str, int]
    places: dict[str, list[tuple[int, int]]]
    met: dict[str, NDArray[np.bool_]]

    def add(self, later: _Found) -> None:
        for kind, count in later.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
            self.places[kind] = (self.places.get(kind, []) + later.places[kind])[:MAX_EXAMPLES]
        for kind, met in later.met.items():
            self.met[kind] |= met


def mark_leaks(
    key_files: Sequence[Path],
    starts: Sequence[int],
    held_out: Sequence[HeldOutPairs],
    decisions: DecisionFile,
    *,
    rule: LeakRule = "side",
    locate: Locate | None = None,
    workers: Workers = IN_PROCESS,
    progress: ProgressCallback | None = None,
) -> dict[str, Leakage]:
    """Mark training pairs that a held-out set shares, and return each set's leakage; `locate` finds examples."""
    sets = [each.keys for each in held_out]
    slices = [slice(at, at + _CHUNKS_A_TASK) for at in range(0, len(key_files), _CHUNKS_A_TASK)]
    tasks = [
        _Task(key_files[some], starts[some], sets, decisions.path, decisions.drop_path(number), rule)
        for number, some in enumerate(slices)
    ]
    totals = [_nothing(keys) for keys in sets]
    for task, found in zip(tasks, workers.run_all(_find_leaks, tasks, progress), strict=True):
        for (dropped,) in read_drops(task.drops):
            decisions.bytes[dropped] = Decision.LEAKED
        for total, part in zip(totals, found, strict=True):
            total.add(part)
    decisions.flush()
    return {each.name: _leakage(each, found, locate) for each, found in zip(held_out, totals, strict=True)}


def _nothing(keys: dict[str, _Wanted]) -> _Found:
    return _Found({}, {}, {kind: np.zeros(len(wanted.high), dtype=bool) for kind, wanted in keys.items()})


def _find_leaks(task: _Task) -> list[_Found]:
    with write_drops(task.drops) as add_drops:
        return _leaks(task, DecisionFile(task.decisions, writable=False), add_drops)


def _leaks(task: _Task, decisions: DecisionFile, add_drops: AddDrops) -> list[_Found]:
    totals = [_nothing(keys) for keys in task.sets]
    for path, start in zip(task.key_files, task.starts, strict=True):
        records = {kind: read_keys(path, kind) for kind in LEAK_KEYS}
        is_kept = decisions.chunk(start, len(records["pair"])) == Decision.KEPT
        is_leaked = np.zeros(len(is_kept), dtype=bool)
        for keys, total in zip(task.sets, totals, strict=True):
            hits: dict[str, _Hits] = {kind: np.where(is_kept, keys[kind].hits(records[kind]), -1) for kind in LEAK_KEYS}
            found, shared = _sort_out(hits, keys, start, task.rule, ~is_leaked)
            total.add(found)
            is_leaked |= shared
        if task.rule != "keep":
            add_drops(np.flatnonzero(is_leaked) + start)
    return totals


def _sort_out(
    hits: dict[str, _Hits], keys: dict[str, _Wanted], start: int, rule: LeakRule, is_new: NDArray[np.bool_]
) -> tuple[_Found, NDArray[np.bool_]]:
    """Return what a chunk shares with a set, and which rows do; rows that are not new count for an earlier set."""
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
            few = rows[:MAX_EXAMPLES]
            found.counts[name] = len(rows)
            found.places[name] = list(
                zip((few + start).tolist(), keys[kind].rows[hits[kind][few]].tolist(), strict=True)
            )
    for kind, places in hits.items():
        found.met[kind][places[places >= 0]] = True
    return found, np.logical_or.reduce([is_so for is_so, _ in kinds.values()])


def _leakage(held_out: HeldOutPairs, found: _Found, locate: Locate | None) -> Leakage:
    leakage = Leakage()
    for kind, count in found.counts.items():
        examples = [] if locate is None else [_example(held_out, locate, *places) for places in found.places[kind]]
        leakage.pairs.add(kind, count, examples)
    for kind, name in zip(LEAK_KEYS, ("pair", _FOLDED, "source", "target"), strict=True):
        leakage.held_out[name] = held_out.keys[kind].rows_met(found.met[kind])
    return leakage


def _example(held_out: HeldOutPairs, locate: Locate, position: int, row: int) -> Example:
    pair = locate(position)
    return Example(pair.file, pair.line, pair.source, pair.target, f"held out at {held_out.place(row)}")
