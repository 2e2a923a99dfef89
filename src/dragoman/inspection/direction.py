"""Where a sentence begins: at the left, or at the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_read", "direction"]


def direction(words: Iterable[str]) -> str:
    """``rtl`` or ``ltr``, by the first letter of a text or of words; ``dir="auto"`` does not look inside of ``bdi``."""
    kinds = (unicodedata.bidirectional(character) for word in words for character in word)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def as_read(
    source: str, columns: Sequence[str], weights: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The columns of a map, and its weights, in the order in which the source is read. Shapes: weights [tgt, src]."""
    if direction(source) == "rtl":
        return tuple(columns)[::-1], weights[:, ::-1]
    return tuple(columns), weights
