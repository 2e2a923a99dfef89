"""What happened to a corpus, as numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.tally import Tally

__all__ = ["Histogram", "LENGTH_BINS", "RATIO_BINS", "Summary", "histograms"]

LENGTH_BINS = np.unique(np.geomspace(1, 4000, 60).astype(np.int64)).astype(np.float64)
"""Left edges of the bins of lengths in characters; the last is open."""
RATIO_BINS = 2.0 ** np.linspace(-3, 3, 49)
"""Left edges of the bins of length ratios (target characters by source characters); the outer ones are open."""

Histogram = dict[str, list[int]]

_TALLIES = ("faults", "notes", "repairs", "drops")


@dataclass
class Summary:
    """Records read = faults + drops + kept. Notes and repairs are about records that may have been kept or not."""

    records: int = 0
    kept: int = 0
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)
    repairs: Tally = field(default_factory=Tally)
    drops: Tally = field(default_factory=Tally)
    histograms: Histogram = field(default_factory=dict)

    def merge(self, later: Summary) -> None:
        """Add what happened to a later part of the corpus."""
        self.records += later.records
        self.kept += later.kept
        for name in _TALLIES:
            getattr(self, name).merge(getattr(later, name))
        for name, counts in later.histograms.items():
            before = self.histograms.get(name, [0] * len(counts))
            self.histograms[name] = [a + b for a, b in zip(before, counts, strict=True)]

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same, with files called by these names."""
        return replace(self, **{name: getattr(self, name).renamed(names) for name in _TALLIES})

    def to_json(self) -> dict[str, Any]:
        """The summary as plain values."""
        tallies = {name: getattr(self, name).to_json() for name in _TALLIES}
        return {"records": self.records, "kept": self.kept, **tallies, "histograms": self.histograms}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        tallies = {name: Tally.from_json(value[name]) for name in _TALLIES}
        return cls(value["records"], value["kept"], **tallies, histograms=value["histograms"])


def histograms(frame: pl.DataFrame) -> Histogram:
    """Lengths in characters of both sides and the ratio between them."""
    source, target = (frame[side].str.len_chars().to_numpy().astype(np.float64) for side in ("source", "target"))
    return {
        "source_characters": _counts(source, LENGTH_BINS),
        "target_characters": _counts(target, LENGTH_BINS),
        "ratio": _counts(np.maximum(target, 1) / np.maximum(source, 1), RATIO_BINS),
    }


def _counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> list[int]:
    """How many values fall into each bin [edge, next edge); those below the first count in it."""
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 1)
    counts: list[int] = np.bincount(places, minlength=len(edges)).tolist()
    return counts
