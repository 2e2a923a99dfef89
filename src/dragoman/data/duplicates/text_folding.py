"""Fold texts for comparison: ignore case, punctuation, white space and Unicode compatibility forms.

Folding is Unicode's caseless compatibility matching (NFKC and full case folding): STRASSE equals Straße, ﬁne equals
fine and １２ equals 12. In addition, decimal digits of all scripts are equal (२०११ equals 2011), and İ equals i. Nearly
every character is folded by a table lookup, many texts at once. Texts with other characters are folded one by one.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LIMIT = 0x40000  # no letter or digit has a higher code point; higher ones map to this one and are removed
_HARD = 0xFFFFFFFF  # table entry of characters that fold to several, or may compose with the one before

_Points = NDArray[np.uint32]


@dataclass(frozen=True)
class FoldedTexts:
    """Concatenated code points of many texts: text `i` is ``points[offsets[i]:offsets[i + 1]]``."""

    points: _Points
    offsets: NDArray[np.int64]

    def to_bytes(self) -> list[bytes]:
        """Return each text as little-endian UTF-32 bytes, for hashing."""
        whole = self.points.astype("<u4", copy=False).tobytes()
        ends = (self.offsets * 4).tolist()
        return [whole[start:end] for start, end in pairwise(ends)]


def fold_texts(texts: pl.Series) -> FoldedTexts:
    """Fold composed texts and keep letters, marks and digits; a text without any is left unchanged."""
    values: list[str] = texts.to_list()
    if any("ß" in text for text in values):  # by far the most frequent of the hard characters
        values = [text.replace("ß", "ss") for text in values]
    folded = _look_up(values, _table())
    if not len(folded.points) or folded.points.max() != _HARD:
        return folded
    hard = np.flatnonzero(folded.points == _HARD)
    rows = np.unique(np.searchsorted(folded.offsets, hard, side="right") - 1)
    return _replaced(folded, rows, _look_up([_plain(values[row]) for row in rows.tolist()], _own_table()))


def _look_up(texts: list[str], table: _Points) -> FoldedTexts:
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
    return FoldedTexts(folded[kept], np.searchsorted(kept, offsets).astype(np.int64))


def _replaced(folded: FoldedTexts, rows: NDArray[np.intp], others: FoldedTexts) -> FoldedTexts:
    """Return the texts with those at `rows` replaced."""
    parts, end = [], 0
    for row, (begin_other, end_other) in zip(rows.tolist(), pairwise(others.offsets.tolist()), strict=True):
        parts += [folded.points[end : folded.offsets[row]], others.points[begin_other:end_other]]
        end = folded.offsets[row + 1]
    lengths = np.diff(folded.offsets)
    lengths[rows] = np.diff(others.offsets)
    return FoldedTexts(np.concatenate([*parts, folded.points[end:]]), np.concatenate([[0], np.cumsum(lengths)]))


def _plain(text: str) -> str:
    """Fold letters, marks and digits of a text; others become spaces, so their neighbours do not compose."""
    kept = "".join(char if _counts(char) else " " for char in text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", kept).casefold())
    return unicodedata.normalize("NFKC", folded.casefold().replace("i\u0307", "i"))


def _counts(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" and ord(character) < _LIMIT


@cache
def _table() -> _Points:
    """Return the folded code point of each code point; 0 if it is removed."""
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
    """Return the table for folded texts: the code point itself, a decimal digit, or 0 if it is removed."""
    table = np.zeros(_LIMIT + 1, dtype=np.uint32)
    for point in range(_LIMIT):
        character = chr(point)
        if _counts(character):
            table[point] = ord("0") + int(unicodedata.decimal(character, point - ord("0")))
    return table


def _joining() -> list[int]:
    """Return characters that may compose with the one before, or fold to one that does."""
    points = np.flatnonzero(_own_table()).tolist()
    seconds = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}  # Hangul composes by rule
    for point in points:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.is_normalized("NFC", chr(point)):
            seconds.add(chr(int(parts[1], 16)))
    return [point for point in points if unicodedata.normalize("NFKC", chr(point)) in seconds]
