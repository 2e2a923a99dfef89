"""Mark words that differ between translations, and whether they occur in the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from dragoman.text.words import split_words

__all__ = ["DiffWord", "diff_words"]

DiffMark = Literal["", "right", "wrong"]


@dataclass(frozen=True)
class DiffWord:
    """A word, punctuation or space; a mark if it differs: "right" if the reference has it, else "wrong"."""

    text: str
    mark: DiffMark


def diff_words(text: str, others: Sequence[str], reference: str) -> list[DiffWord]:
    """Split a text into words and mark those that at least one of the other translations lacks.

    Common words are found as in ``diff``: in order, the longest runs first.
    """
    words = split_words(text)
    shared = [_shared(words, split_words(other)) for other in others]
    expected = _shared(words, split_words(reference))
    return [DiffWord(word, _mark(place, word, shared, expected)) for place, word in enumerate(words)]


def _mark(place: int, word: str, shared: Sequence[set[int]], expected: set[int]) -> DiffMark:
    if word.isspace() or all(place in each for each in shared):
        return ""
    return "right" if place in expected else "wrong"


def _shared(words: Sequence[str], other: Sequence[str]) -> set[int]:
    """Return the indices of words that both texts have."""
    blocks = SequenceMatcher(None, words, other, autojunk=False).get_matching_blocks()
    return {place for block in blocks for place in range(block.a, block.a + block.size)}
