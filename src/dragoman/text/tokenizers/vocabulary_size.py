"""Choose the size of a subword vocabulary that the characters of a text fit in.

Every frequent character is a token. A text in an alphabet has about a hundred, one in Chinese or Japanese has
thousands, which leave no room for subwords in a vocabulary of the usual size.
"""

from __future__ import annotations

from collections import Counter

from dragoman.text.tokenizers.vocabulary import SPECIALS

__all__ = ["count_needed_tokens", "fitting_size"]

_BYTES = 256
_STEP = 100


def count_needed_tokens(characters: Counter[str], coverage: float) -> int:
    """Return the number of tokens that are no subwords: special tokens, bytes, and characters up to the coverage."""
    left = coverage * characters.total()
    needed = 0
    for _, count in characters.most_common():
        if left <= 0:
            break
        left -= count
        needed += 1
    return len(SPECIALS) + _BYTES + needed


def fitting_size(needed: int, size: int) -> int:
    """Return a size of which at least a third is left for subwords: `size`, or more if the characters need it."""
    return size if needed <= size // 2 else -(-(needed + size // 2) // _STEP) * _STEP
