"""Pairs of shards in several translation directions: each pair is stored once, and language tokens are not stored."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.data.shards import Shards
from dragoman.data.token_pairs import Pairs, Sentences


@dataclass(frozen=True)
class DirectionView:
    """The pairs of a corpus in one direction: their rows in the shards, and the tokens that begin each side."""

    first_row: int
    rows: int
    is_swapped: bool
    source_prefix: tuple[int, ...] = ()
    target_prefix: tuple[int, ...] = ()


class DirectedShards:
    """All views one after the other, numbered from 0, in the direction of each row; `lengths` has language tokens."""

    def __init__(self, shards: Shards, views: Sequence[DirectionView]) -> None:
        self.shards, self.views = shards, tuple(views)
        self._bounds = np.cumsum([0, *(view.rows for view in views)])
        self._first = np.array([view.first_row for view in views], dtype=np.int64)
        self._swapped = np.array([view.is_swapped for view in views], dtype=bool)
        prefixes = [(len(view.source_prefix), len(view.target_prefix)) for view in views]
        self._prefix_lengths = np.array(prefixes, dtype=np.int64).reshape(-1, 2)  # [views, 2]

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of both sides of each row, language tokens included. Shapes: [n] -> [n, 2]."""
        owners, stored = self._stored(rows)
        lengths = self.shards.lengths(stored)
        swapped = self._swapped[owners]
        lengths[swapped] = lengths[swapped][:, ::-1]
        return lengths + self._prefix_lengths[owners]

    def gather(self, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs of the rows, in that order, without language tokens."""
        owners, stored = self._stored(rows)
        pairs = self.shards.gather(stored)
        swapped = self._swapped[owners]
        if not swapped.any():
            return pairs
        sides = list(zip(pairs.source.split(), pairs.target.split(), strict=True))
        ordered = [(other, one) if swap else (one, other) for (one, other), swap in zip(sides, swapped, strict=True)]
        return Pairs(*(_joined([pair[side] for pair in ordered]) for side in range(2)))

    def with_language_tokens(self, pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs of the rows with the tokens that begin each side."""
        owners, _ = self._stored(rows)
        views = [self.views[owner] for owner in owners.tolist()]
        return Pairs(
            _begun(pairs.source, [view.source_prefix for view in views]),
            _begun(pairs.target, [view.target_prefix for view in views]),
        )

    def _stored(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the view of each row, and its row in the shards. Shapes: [n] -> [n], [n]."""
        owners = np.searchsorted(self._bounds, rows, side="right") - 1
        return owners, self._first[owners] + rows - self._bounds[owners]


def _joined(sentences: Sequence[NDArray[np.integer]]) -> Sentences:
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return Sentences(np.concatenate(sentences) if sentences else np.empty(0, dtype=np.uint16), lengths)


def _begun(sentences: Sentences, prefixes: Sequence[tuple[int, ...]]) -> Sentences:
    if not any(prefixes):
        return sentences
    parts: list[NDArray[np.integer]] = []
    for prefix, tokens in zip(prefixes, sentences.split(), strict=True):
        parts += [np.array(prefix, dtype=tokens.dtype), tokens]
    lengths = sentences.lengths + np.fromiter(map(len, prefixes), dtype=np.int64, count=len(prefixes))
    return Sentences(np.concatenate(parts), lengths)
