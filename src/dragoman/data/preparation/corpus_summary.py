"""Summary of a cleaned corpus: pairs read, kept and dropped by reason, and histograms of lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.reason_counts import Tally

__all__ = ["CorpusSummary", "Histogram", "LENGTH_BINS", "RATIO_BINS", "histograms"]

LENGTH_BINS = np.unique(np.geomspace(1, 4000, 60).astype(np.int64)).astype(np.float64)
"""Left edges of the bins of lengths in characters; the last bin is open."""
RATIO_BINS = 2.0 ** np.linspace(-3, 3, 49)
"""Left edges of the bins of length ratios (target characters by source characters); the outer bins are open."""

Histogram = dict[str, list[int]]

_TALLIES = ("faults", "notes", "repairs", "drops")


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
        """Add the summary of a later part of the corpus."""
        self.records += later.records
        self.kept += later.kept
        for name in _TALLIES:
            getattr(self, name).merge(getattr(later, name))
        for name, counts in later.histograms.items():
            before = self.histograms.get(name, [0] * len(counts))
            self.histograms[name] = [a + b for a, b in zip(before, counts, strict=True)]

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the summary with files renamed."""
        return replace(self, **{name: getattr(self, name).renamed(names) for name in _TALLIES})

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
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
