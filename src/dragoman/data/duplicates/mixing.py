"""Stirring of 64 bits, for whatever must look random and be the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAMMA", "mix", "mix_seed"]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose bits have no pattern: 2^64 over the golden ratio."""

_WORD = 64


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stir each word, one to one: a step of SplitMix64."""
    words = words + GAMMA
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


def mix_seed(seed: int) -> NDArray[np.uint64]:
    """One word that depends on all bits of a seed from 0 up, however large. Shape: [1]."""
    word = np.zeros(1, dtype=np.uint64)
    for shift in range(0, max(1, seed.bit_length()), _WORD):
        word = mix(word ^ np.uint64(seed >> shift & (1 << _WORD) - 1))
    return word
