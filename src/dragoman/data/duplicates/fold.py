"""Texts without what does not count when two of them are compared: case, punctuation and blanks."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Folded", "fold"]

_LIMIT = 0x40000  # no letter or digit has a higher code point; what does is looked up as this one, and left out


@dataclass(frozen=True)
class Folded:
    """Many texts as code points, one after the other: text `i` is ``points[offsets[i]:offsets[i + 1]]``."""

    points: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def pieces(self) -> list[bytes]:
        """Every text as bytes, for hashing: four a character, the lowest first on every machine."""
        whole = self.points.astype("<u4", copy=False).tobytes()
        ends = (self.offsets * 4).tolist()
        return [whole[start:end] for start, end in pairwise(ends)]


def fold(texts: pl.Series) -> Folded:
    """Lower-case the texts and keep letters with their marks and digits; a text without any stays as it is."""
    points = np.frombuffer("".join(texts.to_list()).encode("utf-32-le"), dtype="<u4").astype(np.uint32, copy=False)
    lengths = texts.str.len_chars().to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    folded = np.take(_table(), points, mode="clip")
    is_kept = folded != 0
    kept = np.flatnonzero(is_kept)
    is_bare = np.diff(np.searchsorted(kept, offsets)) == 0
    if is_bare.any():
        is_own = np.repeat(is_bare, lengths)
        folded = np.where(is_own, points, folded)
        kept = np.flatnonzero(is_kept | is_own)
    return Folded(folded[kept], np.searchsorted(kept, offsets).astype(np.int64))


@cache
def _table() -> NDArray[np.uint32]:
    """What each code point becomes; 0 if it is left out."""
    table = np.zeros(_LIMIT + 1, dtype=np.uint32)
    for point in range(_LIMIT):
        character = chr(point)
        if unicodedata.category(character)[0] in "LMN":
            table[point] = _lower(character)
    return table


def _lower(character: str) -> int:
    folded = character.casefold()  # unlike lower() it knows that both small sigmas are one letter
    return ord(folded) if len(folded) == 1 else ord(character.lower()[0])
