"""Right-to-left words in a terminal, whose columns must stay where they are.

Some terminals turn Hebrew and Arabic around by the rules of Unicode, and others do not. Marks without a width, which
the latter ignore, tell the former that a word is a matter of its own: what stands around it keeps its place.
"""

from __future__ import annotations

import unicodedata

from dragoman.inspection.direction import direction

__all__ = ["is_turned", "settled", "settled_line"]

_LEFT, _RIGHT = "\u200e", "\u200f"  # letters without a width
_ISOLATE, _END = "\u2067", "\u2069"
_TURNED = frozenset({"R", "AL"})


def is_turned(text: str) -> bool:
    """Whether any of it is written from right to left."""
    return any(unicodedata.bidirectional(character) in _TURNED for character in text)


def settled(word: str) -> str:
    """A word between others in a line from left to right: it moves nothing, and its punctuation stays with it."""
    return f"{_LEFT}{_RIGHT}{word}{_RIGHT}{_LEFT}" if is_turned(word) else word


def settled_line(text: str) -> str:
    """A stretch of a sentence, as one run in its own direction."""
    if not is_turned(text):
        return text
    isolated = f"{_ISOLATE}{text}{_END}" if direction(text) == "rtl" else text
    return f"{_LEFT}{isolated}{_LEFT}"
