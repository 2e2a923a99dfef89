"""Read sentence pairs of a corpus by position, and compare their texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dragoman.data.duplicates.shingles import jaccard, shingles
from dragoman.data.token_pairs import SIDES

_SCHEMA = {**dict.fromkeys(SIDES, pl.String), "line": pl.UInt32}


def fetch_rows(
    chunk_files: Sequence[Path],
    starts: Sequence[int],
    positions: NDArray[np.int64],
    columns: Iterable[str] = (*SIDES, "line"),
) -> pl.DataFrame:
    """Return the pairs at these positions of the corpus, in that order; only their pages of the files are read."""
    wanted, places = np.unique(positions, return_inverse=True)
    owners = np.searchsorted(np.asarray(starts, dtype=np.int64), wanted, side="right") - 1
    values: dict[str, list[object]] = {name: [] for name in columns}
    for owner in np.unique(owners).tolist():
        rows = (wanted[owners == owner] - starts[owner]).tolist()
        with pa.memory_map(str(chunk_files[owner])) as file:
            table = pa.ipc.open_file(file).read_all()
            for name, found in values.items():
                column = table[name]  # string views, which `take` does not support
                found.extend(column[row].as_py() for row in rows)
    return pl.DataFrame(values, schema={name: _SCHEMA[name] for name in values})[places]


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
