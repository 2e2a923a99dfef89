"""Mix the bits of 64-bit integers with SplitMix64, with the same result on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAMMA", "mix", "mix_seed"]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, an odd number."""

_WORD = 64


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply a step of SplitMix64, a bijection, to each word."""
    words = words + GAMMA
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


def mix_seed(seed: int) -> NDArray[np.uint64]:
    """Return a word that depends on all bits of a seed of any size, 0 or more. Shape: [1]."""
    word = np.zeros(1, dtype=np.uint64)
    for shift in range(0, max(1, seed.bit_length()), _WORD):
        word = mix(word ^ np.uint64(seed >> shift & (1 << _WORD) - 1))
    return word
