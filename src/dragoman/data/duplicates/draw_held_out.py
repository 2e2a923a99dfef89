"""Draw a validation or test set from the training pairs, with each source sentence at most once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.duplicates.drop_decisions import Decision, DecisionFile
from dragoman.data.duplicates.hash_mixing import mix, mix_seed
from dragoman.data.duplicates.key_file import read_keys
from dragoman.data.duplicates.pair_keys import KeyKind
from dragoman.data.worker_processes import ProgressCallback
from dragoman.errors import DataError

__all__ = ["HELD_OUT_KEYS", "choose_held_out"]

HELD_OUT_KEYS: tuple[KeyKind, ...] = ("pair", "folded_source")
"""Kinds of keys that `choose_held_out` reads."""

# Sort keys of pairs, the most important first. The position only distinguishes equal pairs.
_DRAW = np.dtype(
    [("rank", "<u8"), ("low", "<u8"), ("pair_high", "<u8"), ("pair_low", "<u8"), ("position", "<i8")], align=True
)
_Draws = NDArray[np.void]


def choose_held_out(
    key_files: Sequence[Path],
    starts: Sequence[int],
    count: int,
    seed: int,
    decisions: DecisionFile,
    *,
    progress: ProgressCallback | None = None,
) -> NDArray[np.int64]:
    """Return the positions of exactly `count` kept pairs with different sources, drawn by `seed`.

    Each source has a hash of its text and the seed, and the lowest hashes are taken, in order. So the choice does not
    depend on the order of files or the number of processes.
    """
    best = np.empty(0, dtype=_DRAW)
    for done, (path, start) in enumerate(zip(key_files, starts, strict=True), start=1):
        draws = _draws(path, start, seed, decisions)
        if len(best) == count > 0:
            draws = draws[draws["rank"] <= best["rank"][-1]]
        best = _lowest(np.concatenate([best, draws]), count)
        if progress is not None:
            progress(done / len(key_files))
    if len(best) < count:
        raise DataError(
            f"validation_pairs and test_pairs must together be at most the number of different sources, {len(best)}, "
            f"got {count}; take fewer, or name files for them"
        )
    positions: NDArray[np.int64] = best["position"].astype(np.int64)
    return positions


def _draws(path: Path, start: int, seed: int, decisions: DecisionFile) -> _Draws:
    sources, pairs = read_keys(path, "folded_source"), read_keys(path, "pair")
    draws = np.empty(len(sources), dtype=_DRAW)
    rows = sources["row"]
    draws["rank"] = mix(sources["high"] ^ mix_seed(seed))
    draws["low"] = sources["low"]
    draws["position"] = rows.astype(np.int64) + start
    by_row = np.empty_like(pairs)
    by_row[pairs["row"]] = pairs
    draws["pair_high"], draws["pair_low"] = by_row["high"][rows], by_row["low"][rows]
    kept: _Draws = draws[decisions.bytes[draws["position"]] == Decision.KEPT]
    return kept


def _lowest(draws: _Draws, count: int) -> _Draws:
    """Return the `count` lowest sources; of each, the pair with the lowest key."""
    draws = draws[np.lexsort([draws[name] for name in reversed(_DRAW.names or ())])]
    is_new = np.ones(len(draws), dtype=bool)
    is_new[1:] = (np.diff(draws["rank"]) != 0) | (np.diff(draws["low"]) != 0)
    return draws[is_new][:count]
