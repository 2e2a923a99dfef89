"""Detect the direction of text, and isolate right-to-left words in terminal output.

Some terminals apply the Unicode bidirectional algorithm, others do not. Marks of zero width, which the latter ignore,
make a word or a line a separate run for the former, so that the columns around it keep their positions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["has_right_to_left", "isolate_line", "isolate_word", "reading_order", "text_direction"]

_LEFT_MARK, _RIGHT_MARK = "\u200e", "\u200f"
_ISOLATE, _END = "\u2067", "\u2069"
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


def text_direction(words: Iterable[str]) -> str:
    """Return ``rtl`` or ``ltr`` by the first letter of a text or of words; ``dir="auto"`` ignores text in ``bdi``."""
    kinds = (unicodedata.bidirectional(character) for word in words for character in word)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def has_right_to_left(text: str) -> bool:
    """Whether any character belongs to a right-to-left script."""
    return any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


def reading_order(
    source: str, columns: Sequence[str], weights: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Order the columns of an attention map from left to right as the source is read. Shapes: weights [tgt, src]."""
    if text_direction(source) == "rtl":
        return tuple(columns)[::-1], weights[:, ::-1]
    return tuple(columns), weights


def isolate_word(word: str) -> str:
    """Isolate a word within a left-to-right line; its punctuation stays next to it."""
    if not has_right_to_left(word):
        return word
    return f"{_LEFT_MARK}{_RIGHT_MARK}{word}{_RIGHT_MARK}{_LEFT_MARK}"


def isolate_line(text: str) -> str:
    """Isolate a part of a sentence as one run in its own direction."""
    if not has_right_to_left(text):
        return text
    isolated = f"{_ISOLATE}{text}{_END}" if text_direction(text) == "rtl" else text
    return f"{_LEFT_MARK}{isolated}{_LEFT_MARK}"
