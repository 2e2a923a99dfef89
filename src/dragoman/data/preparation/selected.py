"""What was selected: the training pairs by their fate, and the held-out corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dragoman.data.duplicates.fates import Fate
from dragoman.data.preparation.clean import Cleaned
from dragoman.data.preparation.summary import Summary
from dragoman.data.tally import Tally

__all__ = ["ChunkOfPairs", "FATES", "Selected", "TAKEN", "chunks_of", "is_leak", "leaked_as"]

FATES = "fates"
"""The file with the fate of every training pair, one byte each."""

TAKEN = {"validation": Fate.VALIDATION, "test": Fate.TEST}
"""The sets that can be taken out of the training corpora, and the fate of their pairs."""

_ALSO_IN = " also in "


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
        return self.folder / FATES

    @property
    def taken(self) -> dict[str, int]:
        """The sets that were taken out of the training corpora, and how many pairs each has."""
        counts = {name: self.said["counts"].get(fate.name, 0) for name, fate in TAKEN.items()}
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
        return pl.concat([_copied(chunk.having(TAKEN[split], self.fates)) for chunk in self.train])

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


def chunks_of(corpora: Sequence[Cleaned]) -> tuple[ChunkOfPairs, ...]:
    """The chunks of several corpora, one after the other."""
    chunks, start = [], 0
    for number, corpus in enumerate(corpora):
        for path, keys, file, height in zip(
            corpus.chunk_files(), corpus.key_files(), corpus.files(), corpus.heights, strict=True
        ):
            chunks.append(ChunkOfPairs(number, path, keys, file, start, height))
            start += height
    return tuple(chunks)


def leaked_as(kind: str, held_out: str) -> str:
    """The reason for which a pair is dropped that shares this with a held-out set."""
    return f"{kind}{_ALSO_IN}{held_out}"


def is_leak(reason: str) -> bool:
    """Whether pairs that were dropped for this reason leak from a held-out set."""
    return _ALSO_IN in reason


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """A few rows of a chunk, without holding on to the memory of all the others."""
    return pl.DataFrame(frame.to_dict(as_series=False), schema=frame.schema)
