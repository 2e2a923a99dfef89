"""Count dropped or changed sentence pairs by reason, with examples; summary of a cleaned corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

MAX_EXAMPLES = 10
"""Maximum number of examples per reason."""

HEADER = "looks like a header"
"""The reason of a note on the first row of a table."""

READ_AS_PAIR = "it is read as a pair; "
"""Begin of the detail of such a note; the remedy follows."""

SHIFTED = "looks shifted against the other side"
"""The reason of a note on lines that match the translations of their neighbours."""

_LONGEST = 300  # characters of a text that an example shows

LENGTH_BINS = np.unique(np.geomspace(1, 4000, 60).astype(np.int64)).astype(np.float64)
"""Left edges of the bins of lengths in characters; the last bin is open."""
RATIO_BINS = 2.0 ** np.linspace(-3, 3, 49)
"""Left edges of the bins of length ratios (target characters by source characters); the outer bins are open."""

Histogram = dict[str, list[int]]

_TALLIES = ("faults", "notes", "repairs", "drops")


@dataclass(frozen=True, order=True)
class Example:
    """A line of a file (from 1), its texts and a detail."""

    file: str
    line: int
    source: str = ""
    target: str = ""
    detail: str = ""

    @property
    def place(self) -> str:
        """The location as ``file:line``."""
        return f"{self.file}:{self.line}"


@dataclass
class Tally:
    """Counts by reason, and the first `MAX_EXAMPLES` examples of each, in insertion order.

    Merging the tallies of the parts of a corpus in order gives the tally of the corpus.
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1, examples: Iterable[Example] = ()) -> None:
        """Add `count` to a reason; only as many examples as needed are read."""
        if not count:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        kept = self.examples.setdefault(reason, [])
        for _, example in zip(range(MAX_EXAMPLES - len(kept)), examples, strict=False):
            kept.append(_cut(example))

    def merge(self, later: Tally) -> None:
        for reason, count in later.counts.items():
            self.add(reason, count, later.examples.get(reason, ()))

    def renamed(self, names: Mapping[str, str]) -> Self:
        examples = {
            reason: [replace(example, file=names.get(example.file, example.file)) for example in found]
            for reason, found in self.examples.items()
        }
        return type(self)(dict(self.counts), examples)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        examples = {reason: [Example(**example) for example in found] for reason, found in value["examples"].items()}
        return cls(dict(value["counts"]), examples)


def _cut(example: Example) -> Example:
    return Example(example.file, example.line, *(_shorten(t) for t in (example.source, example.target, example.detail)))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def header_warning(notes: Tally) -> str:
    """Return a warning of a first row that names the columns; empty if there is none."""
    found = notes.examples.get(HEADER, [])
    fix = found[0].detail.removeprefix(READ_AS_PAIR) if found else ""
    return f"{found[0].place} looks like a header, and would be a pair: {fix}" if found else ""


def reading_notes(notes: Tally) -> list[str]:
    """Return what was removed from lines or is unusual in them, except for what has a warning of its own."""
    return [
        f"{reason}: {count:,} {'line' if count == 1 else 'lines'}, the first is {notes.examples[reason][0].place}"
        for reason, count in notes.counts.items()
        if reason not in (HEADER, SHIFTED) and notes.examples.get(reason)
    ]


@dataclass
class CorpusSummary:
    """Counts of a corpus: records = faults + drops + kept. Notes and repairs concern kept and dropped records."""

    records: int = 0
    kept: int = 0
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)
    repairs: Tally = field(default_factory=Tally)
    drops: Tally = field(default_factory=Tally)
    histograms: Histogram = field(default_factory=dict)

    def merge(self, later: CorpusSummary) -> None:
        self.records += later.records
        self.kept += later.kept
        for name in _TALLIES:
            getattr(self, name).merge(getattr(later, name))
        for name, counts in later.histograms.items():
            before = self.histograms.get(name, [0] * len(counts))
            self.histograms[name] = [a + b for a, b in zip(before, counts, strict=True)]

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(self, **{name: getattr(self, name).renamed(names) for name in _TALLIES})

    def to_json(self) -> dict[str, Any]:
        tallies = {name: getattr(self, name).to_json() for name in _TALLIES}
        return {"records": self.records, "kept": self.kept, **tallies, "histograms": self.histograms}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        tallies = {name: Tally.from_json(value[name]) for name in _TALLIES}
        return cls(value["records"], value["kept"], **tallies, histograms=value["histograms"])


def histograms(frame: pl.DataFrame) -> Histogram:
    """Return histograms of the lengths of both sides in characters, and of their ratio."""
    source, target = (frame[side].str.len_chars().to_numpy().astype(np.float64) for side in ("source", "target"))
    return {
        "source_characters": _counts(source, LENGTH_BINS),
        "target_characters": _counts(target, LENGTH_BINS),
        "ratio": _counts(np.maximum(target, 1) / np.maximum(source, 1), RATIO_BINS),
    }


def _counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> list[int]:
    """Count the values in each bin [edge, next edge); values below the first edge count in the first bin."""
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 1)
    counts: list[int] = np.bincount(places, minlength=len(edges)).tolist()
    return counts
