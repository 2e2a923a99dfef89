"""Read single sentence pairs of a corpus from Arrow files by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dragoman.data.token_pairs import SIDES

__all__ = ["fetch_rows"]

_SCHEMA = {**dict.fromkeys(SIDES, pl.String), "line": pl.UInt32}


def fetch_rows(
    chunk_files: Sequence[Path],
    starts: Sequence[int],
    positions: NDArray[np.int64],
    columns: Iterable[str] = (*SIDES, "line"),
) -> pl.DataFrame:
    """Return the pairs at these positions of the corpus, in the order of `positions`.

    Each file is opened once; of uncompressed files only the pages of these pairs are read.
    """
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
