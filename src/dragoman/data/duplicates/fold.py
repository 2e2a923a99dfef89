"""Texts without what does not count when two of them are compared: case, punctuation, blanks and forms of characters.

Folding is Unicode's caseless compatibility matching (NFKC and full case folding): STRASSE is Straße, ﬁne is fine and
１２ is 12. Beyond it, decimal digits of all scripts are one (२०११ is 2011), and İ is i. Nearly every character becomes
one other, whatever stands beside it, and is looked up in a table, many texts at once. The texts that hold one of the
others are folded first, one by one.
"""

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
_HARD = 0xFFFFFFFF  # what the table says of characters that become several, or may grow together with the one before

_Points = NDArray[np.uint32]


@dataclass(frozen=True)
class Folded:
    """Many texts as code points, one after the other: text `i` is ``points[offsets[i]:offsets[i + 1]]``."""

    points: _Points
    offsets: NDArray[np.int64]

    def pieces(self) -> list[bytes]:
        """Every text as bytes, for hashing: four a character, the lowest first on every machine."""
        whole = self.points.astype("<u4", copy=False).tobytes()
        ends = (self.offsets * 4).tolist()
        return [whole[start:end] for start, end in pairwise(ends)]


def fold(texts: pl.Series) -> Folded:
    """Fold the texts and keep letters with their marks and digits; a text without any stays as it is.

    Texts that look the same are expected to be the same: composed, as normalising leaves them.
    """
    values: list[str] = texts.to_list()
    if any("ß" in text for text in values):  # by far the most frequent of the hard characters
        values = [text.replace("ß", "ss") for text in values]
    folded = _look_up(values, _table())
    if not len(folded.points) or folded.points.max() != _HARD:
        return folded
    hard = np.flatnonzero(folded.points == _HARD)
    rows = np.unique(np.searchsorted(folded.offsets, hard, side="right") - 1)
    return _replaced(folded, rows, _look_up([_plain(values[row]) for row in rows.tolist()], _own_table()))


def _look_up(texts: list[str], table: _Points) -> Folded:
    points = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint32, copy=False)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    folded = np.take(table, points, mode="clip")
    is_kept = folded != 0
    kept = np.flatnonzero(is_kept)
    is_bare = np.diff(np.searchsorted(kept, offsets)) == 0
    if is_bare.any():
        is_own = np.repeat(is_bare, lengths)
        folded = np.where(is_own, points, folded)
        kept = np.flatnonzero(is_kept | is_own)
    return Folded(folded[kept], np.searchsorted(kept, offsets).astype(np.int64))


def _replaced(folded: Folded, rows: NDArray[np.intp], others: Folded) -> Folded:
    """The texts, those at `rows` replaced by others."""
    parts, end = [], 0
    for row, (begin_other, end_other) in zip(rows.tolist(), pairwise(others.offsets.tolist()), strict=True):
        parts += [folded.points[end : folded.offsets[row]], others.points[begin_other:end_other]]
        end = folded.offsets[row + 1]
    lengths = np.diff(folded.offsets)
    lengths[rows] = np.diff(others.offsets)
    return Folded(np.concatenate([*parts, folded.points[end:]]), np.concatenate([[0], np.cumsum(lengths)]))


def _plain(text: str) -> str:
    """Fold the letters, marks and digits of a text; blanks stand for the rest, for what it parts does not compose."""
    kept = "".join(char if _counts(char) else " " for char in text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", kept).casefold())
    return unicodedata.normalize("NFKC", folded.casefold().replace("i\u0307", "i"))


def _counts(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" and ord(character) < _LIMIT


@cache
def _table() -> _Points:
    """What each code point becomes; 0 if it is left out."""
    table = _own_table().copy()
    for point in np.flatnonzero(table).tolist():
        character = chr(point)
        if character.casefold() != character or not unicodedata.is_normalized("NFKC", character):
            plain = _plain(character)
            table[point] = table[ord(plain)] if len(plain) == 1 else _HARD
    table[_joining()] = _HARD
    return table


@cache
def _own_table() -> _Points:
    """What each code point of a folded text becomes: itself, a decimal digit, or 0 if it is left out."""
    table = np.zeros(_LIMIT + 1, dtype=np.uint32)
    for point in range(_LIMIT):
        character = chr(point)
        if _counts(character):
            table[point] = ord("0") + int(unicodedata.decimal(character, point - ord("0")))
    return table


def _joining() -> list[int]:
    """Characters that may compose with the one before, or become one that does."""
    points = np.flatnonzero(_own_table()).tolist()
    seconds = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}  # Hangul composes by rule
    for point in points:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.is_normalized("NFC", chr(point)):
            seconds.add(chr(int(parts[1], 16)))
    return [point for point in points if unicodedata.normalize("NFKC", chr(point)) in seconds]
