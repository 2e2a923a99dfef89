"""Sentence pairs as flat arrays of token ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SIDES = ("source", "target")
"""Names of the two sides of a pair, used for columns, attributes and settings."""


@dataclass(frozen=True)
class Sentences:
    """Concatenated sentences. Shapes: ids [all tokens], lengths [sentences]."""

    ids: NDArray[np.integer]
    lengths: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.lengths)

    def split(self) -> Iterator[NDArray[np.integer]]:
        end = 0
        for length in self.lengths.tolist():
            yield self.ids[end : end + length]
            end += length


@dataclass(frozen=True)
class Pairs:
    """Source and target token ids without special tokens; `links` are pairs of positions, if known."""

    source: Sentences
    target: Sentences
    links: Pairs | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target)

    def __len__(self) -> int:
        return len(self.source)
