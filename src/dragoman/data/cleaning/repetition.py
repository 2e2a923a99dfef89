"""Finding text that repeats itself: "no no no no", the favourite fault of crawled text and of translators."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.cleaning.codes import SCRIPTS, primary_language
from dragoman.data.cleaning.suspects import among
from dragoman.data.pairs import SIDES

__all__ = ["SPACELESS_LANGUAGES", "follows_itself", "repeats"]

_SPACELESS_SCRIPTS = {"Han", "Khmer", "Lao", "Myanmar", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Thai", "Tibetan"}

SPACELESS_LANGUAGES = frozenset(
    language for language, scripts in SCRIPTS.items() if _SPACELESS_SCRIPTS.intersection(scripts)
) - {"ko", "pi", "za"}
"""Languages whose runs are of characters, not of words."""

_LONGEST_RUN = 50
"""Runs of more words or characters than this are not looked for."""

_ROWS_AT_ONCE = 8192  # what is computed of so many texts fits into the processor's cache

# How many bytes a character has in UTF-8, by the first of them; and masks of so many bytes.
_CHARACTER_BYTES = np.array(
    [1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0) for byte in range(256)], dtype=np.uint8
)
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], dtype=np.uint32)


def repeats(frame: pl.DataFrame, *, source: str, target: str, most: int) -> pl.Series:
    """Mark pairs with a side in which a run of words (characters without spaces) follows itself more often."""
    marks = [_repeats(frame, side, language, most) for side, language in zip(SIDES, (source, target), strict=True)]
    return marks[0] | marks[1]


def _repeats(frame: pl.DataFrame, side: str, language: str, most: int) -> pl.Series:
    spaceless = primary_language(language) in SPACELESS_LANGUAGES

    def exact(suspects: pl.DataFrame) -> pl.Series:
        found = [follows_itself(text if spaceless else text.split(), most) for text in suspects[side].to_list()]
        return pl.Series("drop", found, dtype=pl.Boolean)

    parts = [_suspects(part[side], spaceless, most) for part in frame.iter_slices(_ROWS_AT_ONCE)]
    return among(frame, pl.concat(parts), exact) if parts else pl.Series("drop", [], dtype=pl.Boolean)


def follows_itself(tokens: Sequence[str], most: int) -> bool:
    """Tell whether a run of tokens follows itself more than `most` times; a run without a letter does not count."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
    return any(
        length >= period * (most + 1) and re.search(r"[^\W\d_]", "".join(tokens[start : start + period]))
        for period in range(1, min(_LONGEST_RUN, len(codes) // (most + 2)) + 1)
        for start, length in _stretches(codes[period:] == codes[:-period])
    )


def _stretches(marks: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield start and length of each stretch of True."""
    edges = np.flatnonzero(np.diff(marks, prepend=False, append=False)).tolist()
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield first, last - first


def _suspects(texts: pl.Series, spaceless: bool, most: int) -> pl.Series:
    """Mark every text that might repeat itself too often, and hardly any other, looking at the whole column at once.

    A token is known here by its first four bytes. In a text that repeats a run of `period` tokens too often, at least
    ``period * (most + 1)`` tokens in a row equal the token `period` places on. So many contain a whole aligned block of
    half that size, and blocks of up to eight truth values are compared as one number.
    """
    starts, keys = _tokens(texts, spaceless)
    ends = (texts.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_numpy()
    marks = np.zeros(len(texts), dtype=np.bool_)
    longest = int(np.diff(np.searchsorted(starts, ends), prepend=0).max(initial=0))
    for period in range(1, min(_LONGEST_RUN, longest // (most + 2)) + 1):
        size = max(size for size in (1, 2, 4, 8) if size == 1 or 2 * size <= period * (most + 1))
        same = keys[period:] == keys[:-period]
        blocks = same[: len(same) // size * size].view(f"u{size}")
        first = np.flatnonzero(blocks == int("01" * size, 16)) * size
        row = np.searchsorted(ends, starts[first], side="right")
        marks[row[row == np.searchsorted(ends, starts[first + size - 1 + period], side="right")]] = True
    return pl.Series("drop", marks)


def _tokens(texts: pl.Series, spaceless: bool) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return where each word (or character) of all texts, one after another, starts, and up to four bytes of it."""
    joined = texts.str.join("\n").cast(pl.Binary).item() + b"\n\n\n\n"
    buffer = np.frombuffer(joined, dtype=np.uint8)
    if spaceless:
        starts = np.flatnonzero((buffer[:-4] & 0xC0) != 0x80)  # not the second or a later byte of a character
        sizes = _CHARACTER_BYTES[buffer[starts]]
    else:
        edges = np.flatnonzero(np.diff(buffer > 0x20, prepend=False))
        starts, sizes = edges[::2], np.minimum(edges[1::2] - edges[::2], 4)
    windows: NDArray[np.uint32] = np.ndarray(len(buffer) - 3, dtype="<u4", buffer=joined, strides=(1,))
    return starts, windows[starts] & _MASKS[sizes]
