"""Test whether two sentence pairs of a corpus, given by position, have similar texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.row_reader import fetch_rows
from dragoman.data.duplicates.shingles import jaccard, shingles
from dragoman.data.token_pairs import SIDES

__all__ = ["PairComparer"]

_FETCHED = 16_384  # comparisons per fetch of texts
_COMPARED = 1024  # comparisons at once: their shingles take about 30 MB


@dataclass(frozen=True)
class PairComparer:
    """Compare pairs of a corpus with a similarity threshold."""

    chunk_files: Sequence[Path]
    starts: Sequence[int]
    similarity: float

    def are_similar(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the pairs at each left and right position have at least the similarity."""
        batches = [slice(at, at + _FETCHED) for at in range(0, len(left), _FETCHED)]
        return np.concatenate([np.empty(0, dtype=bool), *(self._batch(left[each], right[each]) for each in batches)])

    def _batch(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        count = len(left)
        frame = fetch_rows(self.chunk_files, self.starts, np.concatenate([left, right]), SIDES)
        shares = [
            jaccard(
                shingles(frame[at : min(at + _COMPARED, count)]),
                shingles(frame[count + at : min(count + at + _COMPARED, 2 * count)]),
            )
            for at in range(0, count, _COMPARED)
        ]
        return np.concatenate(shares) >= self.similarity
