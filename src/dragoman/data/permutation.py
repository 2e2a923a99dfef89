"""Keyed random permutations without a table: a Feistel network (Luby and Rackoff, 1988) with cycle walking."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DataError

MAX_ITEMS: Final = 2**40
"""Maximum number of items of a permutation."""

GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, an odd number."""

_WORD = 64
_ROUNDS = 8
_ROUNDS_WHEN_SMALL = 24  # one round changes little in halves of a few bits
_SMALL_BITS = 16
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

Words = NDArray[np.uint64]
Integers = NDArray[np.integer] | Sequence[int] | int


def mix(words: Words) -> Words:
    """Apply a step of SplitMix64, a bijection, to each word; the result is the same on every machine."""
    return _scrambled(words + GAMMA)


def mix_seed(seed: int) -> Words:
    """Return a word that depends on all bits of a seed of any size, 0 or more. Shape: [1]."""
    word = np.zeros(1, dtype=np.uint64)
    for shift in range(0, max(1, seed.bit_length()), _WORD):
        word = mix(word ^ np.uint64(seed >> shift & (1 << _WORD) - 1))
    return word


def mix_key(key: tuple[int, ...], words: int) -> Words:
    """Return 64-bit words that depend on every integer of the key, the same on every machine."""
    text = " ".join(map(str, key)).encode()
    digests = [blake2b(text, digest_size=64, salt=n.to_bytes(2, "little")).digest() for n in range(-(-words // 8))]
    return np.frombuffer(b"".join(digests), dtype="<u8")[:words].astype(np.uint64)


class Permutation:
    """A family of permutations of ``range(size)``, one for each number of `turns`, determined by the key.

    >>> permutation = Permutation(5, key=(1, 2))
    >>> sorted(permutation.at(range(5)).tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, size: int, key: tuple[int, ...]) -> None:
        if not 1 <= size <= MAX_ITEMS:
            raise DataError(f"a permutation must have from 1 to 2^40 items, got {size}; leave empty corpora out")
        self.size = size
        bits = max(1, (size - 1).bit_length())
        self._low_bits = np.uint64(bits // 2)
        self._low_mask = np.uint64((1 << (bits // 2)) - 1)
        self._high_mask = np.uint64((1 << (bits - bits // 2)) - 1)
        self._keys = mix_key(key, _ROUNDS if bits > _SMALL_BITS else _ROUNDS_WHEN_SMALL)

    def at(self, indices: Integers, turns: Integers = 0) -> NDArray[np.int64]:
        """Return the image of each index under the permutation with its number. Shapes: [n], [n] or one -> [n]."""
        words = np.atleast_1d(np.asarray(indices)).astype(np.uint64)
        numbers = np.atleast_1d(np.asarray(turns)).astype(np.uint64)
        tweaks = np.broadcast_to(_scrambled(numbers * GAMMA + GAMMA), words.shape)
        words = self._network(words, tweaks)
        outside = np.flatnonzero(words >= self.size)
        while len(outside):
            words[outside] = self._network(words[outside], tweaks[outside])
            outside = outside[words[outside] >= self.size]
        return words.astype(np.int64)

    def _network(self, words: Words, tweaks: Words) -> Words:
        low, high = words & self._low_mask, words >> self._low_bits
        for number, key in enumerate(self._keys):
            if number % 2:
                low = low ^ (_scrambled(high * GAMMA + (tweaks ^ key)) & self._low_mask)
            else:
                high = high ^ (_scrambled(low * GAMMA + (tweaks ^ key)) & self._high_mask)
        return (high << self._low_bits) | low


def _scrambled(words: Words) -> Words:
    """Apply the finalizer of SplitMix64 [steele2014]; 64-bit products wrap around."""
    words = words ^ (words >> np.uint64(30))
    words *= _MIX_1
    words ^= words >> np.uint64(27)
    words *= _MIX_2
    words ^= words >> np.uint64(31)
    return words
