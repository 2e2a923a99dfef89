"""Which words of a translation another one does not have, and which of those the reference has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from dragoman.text.characters import attaches, is_spaceless

__all__ = ["MarkedWord", "marked_words", "split_words"]

Mark = Literal["", "right", "wrong"]


@dataclass(frozen=True)
class MarkedWord:
    """A word, or what stands between two; `mark` says that it differs, and whether it is in the reference."""

    text: str
    mark: Mark


def marked_words(text: str, others: Sequence[str], reference: str) -> list[MarkedWord]:
    """The text word by word. A word differs unless every one of the other translations has it in the same place.

    What a text has in common with another is found as by ``diff``: in order, the longest stretches first.
    """
    words = split_words(text)
    shared = [_shared(words, split_words(other)) for other in others]
    expected = _shared(words, split_words(reference))
    return [MarkedWord(word, _mark(place, word, shared, expected)) for place, word in enumerate(words)]


def _mark(place: int, word: str, shared: Sequence[set[int]], expected: set[int]) -> Mark:
    if word.isspace() or all(place in each for each in shared):
        return ""
    return "right" if place in expected else "wrong"


def _shared(words: Sequence[str], other: Sequence[str]) -> set[int]:
    """The places of words that both texts have."""
    blocks = SequenceMatcher(None, words, other, autojunk=False).get_matching_blocks()
    return {place for block in blocks for place in range(block.a, block.a + block.size)}


def split_words(text: str) -> list[str]:
    """Words, marks and spaces; joined they are the text. In scripts without spaces every character is a word."""
    words: list[str] = []
    before = ""
    for character in text:
        kind = _kind(character)
        if words and (attaches(character) or (kind == before and kind in ("word", "space"))):
            words[-1] += character
        else:
            words.append(character)
            before = kind
    return words


def _kind(character: str) -> str:
    if character.isspace():
        return "space"
    if is_spaceless(character):
        return "alone"
    return "word" if character.isalnum() else "mark"
