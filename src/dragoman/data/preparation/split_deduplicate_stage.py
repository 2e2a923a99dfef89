"""Second stage of preparation: draw held-out sets; drop training pairs that also occur there, and duplicates."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.config import DataConfig
from dragoman.data.duplicates.decisions import (
    Decision,
    DecisionFile,
    DuplicateCount,
    choose_held_out,
    mark_duplicates,
)
from dragoman.data.duplicates.leakage import HeldOutPairs, Leakage, LeakRule, mark_leaks
from dragoman.data.duplicates.near_duplicates import mark_near_duplicates, write_bands
from dragoman.data.duplicates.stored_pairs import fetch_rows
from dragoman.data.preparation.cached_stage import Stage, versions
from dragoman.data.preparation.clean_stage import AS_IN_TRAINING, CleanedCorpus
from dragoman.data.preparation.selected_pairs import DECISIONS, TAKEN, PairChunk, SelectedPairs, chunks_of, leaked_as
from dragoman.data.reason_counts import Example, Tally
from dragoman.data.worker_processes import Workers
from dragoman.errors import DataError
from dragoman.progress import Progress

_VERSION = 2


def select_pairs(
    train: Sequence[CleanedCorpus],
    held_out: Sequence[tuple[str, CleanedCorpus]],
    data: DataConfig,
    *,
    work: Path,
    workers: Workers,
    progress: Progress,
) -> SelectedPairs:
    """Decide on all pairs, or use the cache: leaks, held-out sets, their leaks, duplicates, near-duplicates."""
    cleaning = data.cleaning
    wanted = {"validation": 0 if data.validation_sets() else data.validation_pairs, "test": data.test_pairs}
    rules = cleaning.model_dump(include={"duplicates", "near_duplicates", "near_duplicate_similarity", "leakage"})
    keys = [[(each.name, each.key) for each in train], [(role, each.name, each.key) for role, each in held_out]]
    depends: list[object] = [_VERSION, keys, rules, wanted, data.seed, versions("rensa", "xxhash")]
    stage = Stage(work, "select", [*depends, "both ways"] if data.is_multilingual else depends)
    chunks = chunks_of(train)
    record = stage.result()
    if record is None:
        progress.begin("finding leaks and duplicates")
        record = _Selection(
            chunks, DecisionFile.create(stage.folder / DECISIONS, _height(chunks)), workers, progress
        ).run(data, wanted, held_out)
        stage.finish(record, [DECISIONS])
    else:
        progress.skip("finding leaks and duplicates")
    validation = chunks_of([cleaned for role, cleaned in held_out if role == "validation"])
    names, summaries = tuple(each.name for each in train), tuple(each.summary for each in train)
    return SelectedPairs(stage.key, stage.folder, chunks, names, summaries, validation, record)


def _height(chunks: Sequence[PairChunk]) -> int:
    return sum(chunk.height for chunk in chunks)


class _Selection:
    """Passes over the keys of all chunks."""

    def __init__(
        self, chunks: Sequence[PairChunk], decisions: DecisionFile, workers: Workers, progress: Progress
    ) -> None:
        self._chunks = chunks
        self._fates = decisions
        self._workers = workers
        self._progress = progress
        self._keys = [chunk.keys for chunk in chunks]
        self._starts = [chunk.start for chunk in chunks]
        self._drops = Tally()

    def run(
        self, data: DataConfig, wanted: dict[str, int], held_out: Sequence[tuple[str, CleanedCorpus]]
    ) -> dict[str, Any]:
        cleaning = data.cleaning
        both_ways = data.is_multilingual
        given = [
            HeldOutPairs(f"{role} set {each.name}", _parts(each), _as_in_training, both_ways=both_ways)
            for role, each in held_out
        ]
        leaks = self._leaks(given, cleaning.leakage)
        taken = self._take(wanted, data.seed, both_ways=both_ways)  # after dropping leaks, so that sets do not overlap
        leaks |= self._leaks(taken, cleaning.leakage)
        repeats = mark_duplicates(
            self._keys, self._starts, cleaning.duplicates, self._fates, workers=self._workers, progress=self._advance
        )
        for kind, those in repeats.items():
            self._count_repeats(f"duplicate {kind}", those)
        if cleaning.near_duplicates:
            self._near(cleaning.near_duplicate_similarity)
        self._fates.flush()
        return {
            "counts": {decision.name: count for decision, count in self._fates.counts().items()},
            "drops": self._drops.to_json(),
            "leaks": {name: {"train": leak.pairs.to_json(), "held_out": leak.held_out} for name, leak in leaks.items()},
            "held_out": {each.name: each.frame.height for each in (*given, *taken)},
        }

    def _advance(self, share: float) -> None:
        self._progress.advance(share, round(share * self._fates.rows))

    def _take(self, wanted: dict[str, int], seed: int, *, both_ways: bool) -> list[HeldOutPairs]:
        """Draw held-out sets from the training pairs."""
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
                self._fates.bytes[chosen] = TAKEN[name]
                found = self._located(chosen)
                sets.append(HeldOutPairs(f"{name} set taken from training", found, both_ways=both_ways))
        return sets

    def _located(self, positions: NDArray[np.int64]) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the pairs at sorted positions, by file."""
        owners = np.searchsorted(self._starts, positions, side="right") - 1
        for owner in np.unique(owners).tolist():
            chunk = self._chunks[owner]
            yield chunk.file, fetch_rows([chunk.path], [chunk.start], positions[owners == owner])

    def _example(self, position: int) -> Example:
        chunk = self._chunks[bisect_right(self._starts, position) - 1]
        row = fetch_rows([chunk.path], [chunk.start], np.array([position])).row(0, named=True)
        return Example(chunk.file, row["line"], row["source"], row["target"])

    def _leaks(self, sets: list[HeldOutPairs], rule: LeakRule) -> dict[str, Leakage]:
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
                self._drops.add(leaked_as(kind, name), count, leak.pairs.examples[kind])
        return found

    def _count_repeats(self, reason: str, repeats: DuplicateCount) -> None:
        examples = (self._repeated(*places) for places in repeats.examples)
        self._drops.add(reason, repeats.count, examples)

    def _repeated(self, position: int, first: int) -> Example:
        pair, kept = self._example(position), self._example(first)
        return Example(pair.file, pair.line, pair.source, pair.target, f"kept: {kept.place}")

    def _near(self, similarity: float) -> None:
        self._progress.begin("finding near-duplicates")
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
        self._count_repeats(Decision.NEAR_DUPLICATE.label, repeats)
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


def _parts(cleaned: CleanedCorpus) -> Iterator[tuple[str, pl.DataFrame]]:
    for number, file in enumerate(cleaned.files()):
        yield file, cleaned.frame(number)
