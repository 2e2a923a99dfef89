"""The second stage: which of the cleaned pairs are kept, decided over all corpora together."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.config import DataConfig
from dragoman.data.duplicates.exact import Repeats, mark_duplicates
from dragoman.data.duplicates.fates import Fate, Fates
from dragoman.data.duplicates.held_out import choose_held_out
from dragoman.data.duplicates.leakage import HeldOut, Leakage, LeakRule, mark_leaks
from dragoman.data.duplicates.near import mark_near_duplicates, write_bands
from dragoman.data.duplicates.rows import fetch_rows
from dragoman.data.preparation.clean import AS_IN_TRAINING, Cleaned
from dragoman.data.preparation.stage import Stage, versions
from dragoman.data.preparation.summary import Summary
from dragoman.data.progress import Progress
from dragoman.data.tally import Example, Tally
from dragoman.data.workers import Workers
from dragoman.errors import DataError

__all__ = ["ChunkOfPairs", "Selected", "is_leak", "select_pairs"]

_VERSION = 1
_FATES = "fates"
_ALSO_IN = " also in "
_TAKEN = {"validation": Fate.VALIDATION, "test": Fate.TEST}


@dataclass(frozen=True)
class ChunkOfPairs:
    """One chunk of a cleaned corpus: its place among all pairs, and where its text is."""

    corpus: int
    path: Path
    keys: Path
    file: str
    start: int
    height: int

    def frame(self) -> pl.DataFrame:
        """All its pairs: the columns source, target, line."""
        return pl.read_ipc(self.path)

    def having(self, fate: Fate, fates: Path) -> pl.DataFrame:
        """The pairs that have this fate."""
        mine = np.fromfile(fates, np.uint8, count=self.height, offset=self.start)
        return self.frame().filter(pl.Series(mine == fate))


@dataclass(frozen=True)
class Selected:
    """The pairs of the training corpora by their fate, and the held-out corpora. It can be sent to other processes."""

    key: str
    folder: Path
    train: tuple[ChunkOfPairs, ...]
    train_names: tuple[str, ...]
    summaries: tuple[Summary, ...]
    validation: tuple[ChunkOfPairs, ...]
    said: dict[str, Any]

    @property
    def kept(self) -> int:
        """How many training pairs are kept."""
        return int(self.said["counts"].get(Fate.KEPT.name, 0))

    @property
    def cleaned(self) -> int:
        """How many there were."""
        return sum(chunk.height for chunk in self.train)

    @property
    def records(self) -> int:
        """How many were read."""
        return sum(summary.records for summary in self.summaries)

    @property
    def mostly(self) -> str:
        """Why most were dropped, to be added to a sentence; nothing where none were."""
        reasons = Counter(self.drops.counts)
        for summary in self.summaries:
            reasons.update(summary.drops.counts)
        return "".join(f" (most of them: {reason})" for reason, _ in reasons.most_common(1))

    @property
    def fates(self) -> Path:
        """The fate of every training pair, one byte each."""
        return self.folder / _FATES

    @property
    def taken(self) -> dict[str, int]:
        """The sets that were taken out of the training corpora, and how many pairs each has."""
        counts = {name: self.said["counts"].get(fate.name, 0) for name, fate in _TAKEN.items()}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def drops(self) -> Tally:
        """Training pairs that were dropped, by reason."""
        return Tally.from_json(self.said["drops"])

    def sample(self, pairs: int, seed: int) -> Iterator[pl.DataFrame]:
        """Training pairs evenly spread over all: one out of each of as many equal stretches of what is kept.

        The columns are source, target, line and file.
        """
        pairs = min(pairs, self.kept)
        jitter = np.random.default_rng(seed).random(pairs)
        chosen = ((np.arange(pairs) + jitter) * (self.kept / max(1, pairs))).astype(np.int64)
        first = 0
        for chunk in self.train:
            frame = chunk.having(Fate.KEPT, self.fates)
            begin, end = np.searchsorted(chosen, (first, first + frame.height))
            yield _copied(frame[chosen[begin:end] - first]).with_columns(file=pl.lit(chunk.file))
            first += frame.height

    def taken_frame(self, split: str) -> pl.DataFrame:
        """The pairs of a set that was taken out of the training corpora."""
        return pl.concat([_copied(chunk.having(_TAKEN[split], self.fates)) for chunk in self.train])

    def splits(self) -> dict[str, tuple[tuple[ChunkOfPairs, ...], Fate | None]]:
        """What is to be written as shards: the chunks of each set, and the fate of its pairs there (None: all)."""
        found: dict[str, tuple[tuple[ChunkOfPairs, ...], Fate | None]] = {"train": (self.train, Fate.KEPT)}
        if self.validation:
            found["validation"] = (self.validation, None)
        elif "validation" in self.taken:
            found["validation"] = (self.train, Fate.VALIDATION)
        return found

    def to_json(self) -> dict[str, Any]:
        """What was decided, as plain values."""
        return {"cleaned": self.cleaned, "kept": self.kept, **self.said}


def select_pairs(
    train: Sequence[Cleaned],
    held_out: Sequence[tuple[str, Cleaned]],
    data: DataConfig,
    *,
    work: Path,
    workers: Workers,
    progress: Progress,
) -> Selected:
    """Decide about every training pair, or take what was decided before.

    In this order: training pairs that leak from held-out sets are dropped; pairs are taken for the sets that are not
    given, and what leaks from those is dropped; then duplicates, and near-duplicates.
    """
    cleaning = data.cleaning
    wanted = {"validation": 0 if data.validation else data.validation_pairs, "test": data.test_pairs}
    rules = cleaning.model_dump(include={"duplicates", "near_duplicates", "near_duplicate_similarity", "leakage"})
    keys = [[(each.name, each.key) for each in train], [(role, each.name, each.key) for role, each in held_out]]
    stage = Stage(work, "select", [_VERSION, keys, rules, wanted, data.seed, versions("rensa", "xxhash")])
    chunks = _chunks(train)
    said = stage.result()
    if said is None:
        progress.begin("looking for leaks and duplicates")
        said = _Selection(chunks, Fates.create(stage.folder / _FATES, _height(chunks)), workers, progress).run(
            data, wanted, held_out
        )
        stage.finish(said, [_FATES])
    else:
        progress.skip("looking for leaks and duplicates")
    validation = _chunks([cleaned for role, cleaned in held_out if role == "validation"])
    names, summaries = tuple(each.name for each in train), tuple(each.summary for each in train)
    return Selected(stage.key, stage.folder, chunks, names, summaries, validation, said)


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """A few rows of a chunk, without holding on to the memory of all the others."""
    return pl.DataFrame(frame.to_dict(as_series=False), schema=frame.schema)


def is_leak(reason: str) -> bool:
    """Whether pairs that were dropped for this reason leak from a held-out set."""
    return _ALSO_IN in reason


def _chunks(corpora: Sequence[Cleaned]) -> tuple[ChunkOfPairs, ...]:
    chunks, start = [], 0
    for number, corpus in enumerate(corpora):
        for path, keys, file, height in zip(
            corpus.chunk_files(), corpus.key_files(), corpus.files(), corpus.heights, strict=True
        ):
            chunks.append(ChunkOfPairs(number, path, keys, file, start, height))
            start += height
    return tuple(chunks)


def _height(chunks: Sequence[ChunkOfPairs]) -> int:
    return sum(chunk.height for chunk in chunks)


class _Selection:
    """The passes over the keys of all chunks."""

    def __init__(self, chunks: Sequence[ChunkOfPairs], fates: Fates, workers: Workers, progress: Progress) -> None:
        self._chunks = chunks
        self._fates = fates
        self._workers = workers
        self._progress = progress
        self._keys = [chunk.keys for chunk in chunks]
        self._starts = [chunk.start for chunk in chunks]
        self._drops = Tally()

    def run(self, data: DataConfig, wanted: dict[str, int], held_out: Sequence[tuple[str, Cleaned]]) -> dict[str, Any]:
        cleaning = data.cleaning
        given = [HeldOut(f"{role} set {each.name}", _parts(each), _as_in_training) for role, each in held_out]
        leaks = self._leaks(given, cleaning.leakage)
        taken = self._take(wanted, data.seed)  # after what leaks is gone, so that no set has pairs of another
        leaks |= self._leaks(taken, cleaning.leakage)
        repeats = mark_duplicates(
            self._keys,
            self._starts,
            cleaning.duplicates,
            self._fates,
            workers=self._workers,
            progress=self._advance,
        )
        for kind, those in repeats.items():
            self._count_repeats(f"duplicate {kind}", those)
        if cleaning.near_duplicates:
            self._near(cleaning.near_duplicate_similarity)
        self._fates.flush()
        return {
            "counts": {fate.name: count for fate, count in self._fates.counts().items()},
            "drops": self._drops.to_json(),
            "leaks": {name: {"train": leak.pairs.to_json(), "held_out": leak.held_out} for name, leak in leaks.items()},
            "held_out": {each.name: each.frame.height for each in (*given, *taken)},
        }

    def _advance(self, share: float) -> None:
        self._progress.advance(share, round(share * self._fates.rows))

    def _take(self, wanted: dict[str, int], seed: int) -> list[HeldOut]:
        """Take held-out sets out of the training pairs."""
        count = sum(wanted.values())
        if not count or not self._fates.rows:
            return []
        if 2 * count > self._fates.rows:
            raise DataError(
                f"data.validation_pairs and data.test_pairs must leave at least half of the {self._fates.rows:,} pairs "
                f"to train on, got {count:,} together; take fewer, or name files for them"
            )
        positions = choose_held_out(self._keys, self._starts, count, seed, self._fates, progress=self._advance)
        sets, first = [], 0
        for name, number in wanted.items():
            chosen = np.sort(positions[first : first + number])
            first += number
            if len(chosen):
                self._fates.bytes[chosen] = _TAKEN[name]
                sets.append(HeldOut(f"{name} set taken from training", self._located(chosen)))
        return sets

    def _located(self, positions: NDArray[np.int64]) -> Iterator[tuple[str, pl.DataFrame]]:
        """The pairs at sorted positions, with the file of each."""
        owners = np.searchsorted(self._starts, positions, side="right") - 1
        for owner in np.unique(owners).tolist():
            chunk = self._chunks[owner]
            yield chunk.file, fetch_rows([chunk.path], [chunk.start], positions[owners == owner])

    def _example(self, position: int) -> Example:
        chunk = self._chunks[bisect_right(self._starts, position) - 1]
        row = fetch_rows([chunk.path], [chunk.start], np.array([position])).row(0, named=True)
        return Example(chunk.file, row["line"], row["source"], row["target"])

    def _leaks(self, sets: list[HeldOut], rule: LeakRule) -> dict[str, Leakage]:
        found = mark_leaks(
            self._keys,
            self._starts,
            sets,
            self._fates,
            rule=rule,
            locate=self._example,
            workers=self._workers,
            progress=self._advance,
        )
        for name, leak in found.items():
            for kind, count in leak.pairs.counts.items() if rule != "keep" else ():
                self._drops.add(f"{kind}{_ALSO_IN}{name}", count, leak.pairs.examples[kind])
        return found

    def _count_repeats(self, reason: str, repeats: Repeats) -> None:
        examples = (self._repeated(*places) for places in repeats.examples)
        self._drops.add(reason, repeats.count, examples)

    def _repeated(self, position: int, first: int) -> Example:
        pair, kept = self._example(position), self._example(first)
        return Example(pair.file, pair.line, pair.source, pair.target, f"kept: {kept.place}")

    def _near(self, similarity: float) -> None:
        self._progress.begin("looking for near-duplicates")
        bands = [self._fates.path.with_name(f"bands-{number:06}") for number in range(len(self._chunks))]
        tasks = [_BandTask(chunk.path, band, similarity) for chunk, band in zip(self._chunks, bands, strict=True)]
        for number, _ in enumerate(self._workers.run(_write_bands, tasks)):
            self._advance((number + 1) / len(tasks) / 2)
        repeats = mark_near_duplicates(
            [chunk.path for chunk in self._chunks],
            self._keys,
            bands,
            self._starts,
            self._fates,
            similarity=similarity,
            workers=self._workers,
            progress=lambda share: self._advance((1 + share) / 2),
        )
        self._count_repeats(Fate.NEAR_DUPLICATE.label, repeats)
        for band in bands:
            band.unlink()


@dataclass(frozen=True)
class _BandTask:
    chunk: Path
    bands: Path
    similarity: float


def _write_bands(task: _BandTask) -> None:
    write_bands(pl.read_ipc(task.chunk), task.bands, similarity=task.similarity)


def _as_in_training(part: pl.DataFrame) -> pl.DataFrame:
    return part.select(pl.col(name).alias(side) for side, name in AS_IN_TRAINING.items())


def _parts(cleaned: Cleaned) -> Iterator[tuple[str, pl.DataFrame]]:
    for number, file in enumerate(cleaned.files()):
        yield file, cleaned.frame(number)
