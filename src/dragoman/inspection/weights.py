"""Attention weights as pictures take them: checked once, at the door."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import DataError

__all__ = ["checked_weights"]


def checked_weights(
    weights: ArrayLike, source_words: Sequence[str], target_words: Sequence[str]
) -> NDArray[np.float64]:
    """The weights as an array, each from 0 to 1; what is not a number counts as 0. Shapes: -> [tgt, src]."""
    values = np.asarray(weights, dtype=np.float64)
    expected = (len(target_words), len(source_words))
    if values.shape != expected:
        raise DataError(
            f"weights must be [{expected[0]} target words, {expected[1]} source words], got the shape {values.shape}; "
            "give one row for each target word, and in it one number for each source word"
        )
    return np.clip(np.nan_to_num(values), 0.0, 1.0)
