"""Mark sentence pairs to drop: repeated runs of words ("no no no no"), as in crawled or machine-translated text."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.cleaning.filters.base import refine
from dragoman.data.token_pairs import SIDES
from dragoman.language_codes import primary_language
from dragoman.text.language_scripts import SCRIPTS

__all__ = ["SPACELESS_LANGUAGES", "has_repetition", "repetitive"]

_SPACELESS_SCRIPTS = {"Han", "Khmer", "Lao", "Myanmar", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Thai", "Tibetan"}

SPACELESS_LANGUAGES = frozenset(
    language for language, scripts in SCRIPTS.items() if _SPACELESS_SCRIPTS.intersection(scripts)
) - {"ko", "pi", "za"}
"""Languages in which runs of characters, not of words, are counted."""

_LONGEST_RUN = 50
"""Maximum length of a run in words or characters; longer runs are not detected."""

_ROWS_AT_ONCE = 8192  # intermediate results of a block fit into the processor's cache

# Number of bytes of a character in UTF-8 by its first byte, and masks of 0 to 4 bytes.
_CHARACTER_BYTES = np.array(
    [1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0) for byte in range(256)], dtype=np.uint8
)
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], dtype=np.uint32)


def repetitive(frame: pl.DataFrame, *, source: str, target: str, maximum: int) -> pl.Series:
    """Mark pairs with a side in which a run of words (or characters) follows itself more than `maximum` times."""
    marks = [_repeats(frame, side, language, maximum) for side, language in zip(SIDES, (source, target), strict=True)]
    return marks[0] | marks[1]


def _repeats(frame: pl.DataFrame, side: str, language: str, maximum: int) -> pl.Series:
    spaceless = primary_language(language) in SPACELESS_LANGUAGES

    def exact(suspects: pl.DataFrame) -> pl.Series:
        found = [has_repetition(text if spaceless else text.split(), maximum) for text in suspects[side].to_list()]
        return pl.Series("drop", found, dtype=pl.Boolean)

    parts = [_suspects(part[side], spaceless, maximum) for part in frame.iter_slices(_ROWS_AT_ONCE)]
    return refine(frame, pl.concat(parts), exact) if parts else pl.Series("drop", [], dtype=pl.Boolean)


def has_repetition(tokens: Sequence[str], maximum: int) -> bool:
    """Whether a run of tokens follows itself more than `maximum` times; a run without a letter does not count."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
    return any(
        length >= period * (maximum + 1) and re.search(r"[^\W\d_]", "".join(tokens[start : start + period]))
        for period in range(1, min(_LONGEST_RUN, len(codes) // (maximum + 2)) + 1)
        for start, length in _stretches(codes[period:] == codes[:-period])
    )


def _stretches(marks: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield start and length of each stretch of True."""
    edges = np.flatnonzero(np.diff(marks, prepend=False, append=False)).tolist()
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield first, last - first


def _suspects(texts: pl.Series, spaceless: bool, maximum: int) -> pl.Series:
    """Mark every text that may be repetitive, and few others, with one pass over the column.

    A token is represented by its first four bytes. In a repetitive text with a run of `period` tokens, at least
    ``period * (maximum + 1)`` consecutive tokens equal the token `period` positions later. They contain an aligned
    block of half that size, and blocks of up to eight truth values are compared as one number.
    """
    starts, keys = _tokens(texts, spaceless)
    ends = (texts.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_numpy()
    marks = np.zeros(len(texts), dtype=np.bool_)
    longest = int(np.diff(np.searchsorted(starts, ends), prepend=0).max(initial=0))
    for period in range(1, min(_LONGEST_RUN, longest // (maximum + 2)) + 1):
        size = max(size for size in (1, 2, 4, 8) if size == 1 or 2 * size <= period * (maximum + 1))
        same = keys[period:] == keys[:-period]
        blocks = same[: len(same) // size * size].view(f"u{size}")
        first = np.flatnonzero(blocks == int("01" * size, 16)) * size
        row = np.searchsorted(ends, starts[first], side="right")
        marks[row[row == np.searchsorted(ends, starts[first + size - 1 + period], side="right")]] = True
    return pl.Series("drop", marks)


def _tokens(texts: pl.Series, spaceless: bool) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the start of each word (or character) in the joined texts, and its first four bytes at most."""
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
