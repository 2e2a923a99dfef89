"""Sentence pairs as flat numbers: what shards hold, loader processes send and batches are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "SIDES", "Sentences"]

SIDES = ("source", "target")
"""The two sides of a pair: names of columns, attributes and settings."""


@dataclass(frozen=True)
class Sentences:
    """Sentences one after the other. Shapes: ids [all pieces], lengths [sentences]."""

    ids: NDArray[np.integer]
    lengths: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.lengths)

    def split(self) -> Iterator[NDArray[np.integer]]:
        """The sentences, one at a time."""
        end = 0
        for length in self.lengths.tolist():
            yield self.ids[end : end + length]
            end += length


@dataclass(frozen=True)
class Pairs:
    """As many source as target sentences: piece numbers without specials."""

    source: Sentences
    target: Sentences

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target)

    def __len__(self) -> int:
        return len(self.source)
