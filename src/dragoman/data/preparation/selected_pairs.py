"""Read the training pairs that were kept, the held-out sets drawn from them, and the held-out corpora."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.batch_plan import CorpusRows, corpus_shares
from dragoman.data.duplicates.decisions import Decision
from dragoman.data.preparation.clean_stage import CleanedCorpus
from dragoman.data.reason_counts import CorpusSummary, Tally

DECISIONS = "decisions"
"""Name of the file with the decision on every training pair, one byte each."""

TAKEN = {"validation": Decision.VALIDATION, "test": Decision.TEST}
"""The sets that can be drawn from the training corpora, and the decision on their pairs."""

Draw = tuple[float, float | None]
"""Weight and share of a corpus."""

_EMPTY = pl.DataFrame(schema={"source": pl.String, "target": pl.String, "line": pl.UInt32})
_ALSO_IN = " also in "


@dataclass(frozen=True)
class PairChunk:
    """One chunk of a cleaned corpus: its files, and its position among all pairs."""

    corpus: int
    path: Path
    keys: Path
    file: str
    start: int
    height: int

    def frame(self) -> pl.DataFrame:
        """Read all pairs: the columns source, target, line."""
        return pl.read_ipc(self.path)

    def with_decision(self, decision: Decision, decisions: Path) -> pl.DataFrame:
        mine = np.fromfile(decisions, np.uint8, count=self.height, offset=self.start)
        return self.frame().filter(pl.Series(mine == decision))

    def count(self, decision: Decision, decisions: Path) -> int:
        return int((np.fromfile(decisions, np.uint8, count=self.height, offset=self.start) == decision).sum())


@dataclass(frozen=True)
class SelectedPairs:
    """The pairs of the training corpora by decision, and the held-out corpora. It can be pickled."""

    key: str
    folder: Path
    train: tuple[PairChunk, ...]
    train_names: tuple[str, ...]
    summaries: tuple[CorpusSummary, ...]
    validation: tuple[PairChunk, ...]
    record: dict[str, Any]

    @property
    def kept(self) -> int:
        return int(self.record["counts"].get(Decision.KEPT.name, 0))

    @property
    def cleaned(self) -> int:
        return sum(chunk.height for chunk in self.train)

    @property
    def records(self) -> int:
        return sum(summary.records for summary in self.summaries)

    @property
    def main_drop_reason(self) -> str:
        """The most frequent reason of drops, as an addition to a message; empty if none were dropped."""
        reasons = Counter(self.drops.counts)
        for summary in self.summaries:
            reasons.update(summary.drops.counts)
        return "".join(f" (most of them: {reason})" for reason, _ in reasons.most_common(1))

    @property
    def decisions(self) -> Path:
        """File with the decision on every training pair, one byte each."""
        return self.folder / DECISIONS

    @property
    def taken(self) -> dict[str, int]:
        """The sets drawn from the training corpora, and the number of pairs of each."""
        counts = {name: self.record["counts"].get(decision.name, 0) for name, decision in TAKEN.items()}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def drops(self) -> Tally:
        return Tally.from_json(self.record["drops"])

    def sample(
        self, pairs: int, seed: int, *, draws: Sequence[Draw] = (), temperature: float = 1.0
    ) -> Iterator[pl.DataFrame]:
        """Yield pairs spread evenly over the kept ones; with `draws`, one per corpus, by the shares of training."""
        jitter = np.random.default_rng(seed).random(min(pairs, self.kept))
        chosen = _spread(jitter, self.kept) if not draws else self._balanced(jitter, draws, temperature)
        first = 0
        for chunk in self.train:
            frame = chunk.with_decision(Decision.KEPT, self.decisions)
            begin, end = np.searchsorted(chosen, (first, first + frame.height))
            yield _copied(frame[chosen[begin:end] - first]).with_columns(file=pl.lit(chunk.file))
            first += frame.height

    def _balanced(self, jitter: NDArray[np.float64], draws: Sequence[Draw], temperature: float) -> NDArray[np.int64]:
        """Return the chosen kept pairs if corpora are drawn by weight and temperature. Shapes: [n] -> [at most n]."""
        kept = [0] * len(draws)
        for chunk in self.train:
            kept[chunk.corpus] += chunk.count(Decision.KEPT, self.decisions)
        shares = corpus_shares(
            [CorpusRows("", 0, rows, weight, share) for rows, (weight, share) in zip(kept, draws, strict=True)],
            temperature,
        )
        found, first = [], 0
        for rows, share in zip(kept, shares, strict=True):
            count = min(rows, int(len(jitter) * share / max(1, sum(shares))))
            found.append(first + _spread(jitter[:count], rows))
            first += rows
        return np.concatenate(found)

    def taken_frame(self, split: str, corpora: Container[int] | None = None) -> pl.DataFrame:
        """Read the pairs of a set drawn from the training corpora, or from some of them."""
        chunks = [chunk for chunk in self.train if corpora is None or chunk.corpus in corpora]
        frames = [_copied(chunk.with_decision(TAKEN[split], self.decisions)) for chunk in chunks]
        return pl.concat(frames) if frames else _EMPTY

    def splits(self) -> dict[str, tuple[tuple[PairChunk, ...], Decision | None]]:
        """Return the sets to write as shards: the chunks of each, and the decision on its pairs (None: all)."""
        found: dict[str, tuple[tuple[PairChunk, ...], Decision | None]] = {"train": (self.train, Decision.KEPT)}
        if self.validation:
            found["validation"] = (self.validation, None)
        elif "validation" in self.taken:
            found["validation"] = (self.train, Decision.VALIDATION)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the counts of the selection as plain values."""
        return {"cleaned": self.cleaned, "kept": self.kept, **self.record}


def _spread(jitter: NDArray[np.float64], rows: int) -> NDArray[np.int64]:
    """Return one row of each of as many equal ranges as there are random numbers. Shapes: [n] -> [n]."""
    return ((np.arange(len(jitter)) + jitter) * (rows / max(1, len(jitter)))).astype(np.int64)


def chunks_of(corpora: Sequence[CleanedCorpus]) -> tuple[PairChunk, ...]:
    """Return the chunks of several corpora in order."""
    chunks, start = [], 0
    for number, corpus in enumerate(corpora):
        for path, keys, file, height in zip(
            corpus.chunk_files(), corpus.key_files(), corpus.files(), corpus.heights, strict=True
        ):
            chunks.append(PairChunk(number, path, keys, file, start, height))
            start += height
    return tuple(chunks)


def leaked_as(kind: str, held_out: str) -> str:
    """Return the drop reason of a pair that shares this with a held-out set."""
    return f"{kind}{_ALSO_IN}{held_out}"


def is_leak(reason: str) -> bool:
    """Whether this drop reason is a leak from a held-out set."""
    return _ALSO_IN in reason


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy a few rows of a chunk, to release the memory of the others."""
    return pl.DataFrame(frame.to_dict(as_series=False), schema=frame.schema)
