"""Where the words of a translator stand in a text that may be spelt a little differently."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.characters import attaches, is_spaceless

__all__ = ["Word", "WordPlaces", "words_in"]

_CHUNK = re.compile(r"\S+")
_FAR = 80  # characters that a word is looked for ahead, beyond its own length


@dataclass(frozen=True, slots=True)
class Word:
    """``text[start:end]``, and within it what is left without the punctuation around it: ``text[first:last]``."""

    start: int
    end: int
    first: int
    last: int


def words_in(text: str) -> list[tuple[int, int]]:
    """Where words stand: between white space, and in scripts without spaces each character for itself."""
    found: list[tuple[int, int]] = []
    for chunk in _CHUNK.finditer(text):
        start, end = chunk.span()
        if chunk[0].isascii():
            found.append((start, end))
        else:
            found += _cut(text, start, end)
    return found


class WordPlaces:
    """The words of a text in their order. Words that cannot be found hold nothing, where they would have to be."""

    def __init__(self, text: str, words: Sequence[str], kept: Sequence[tuple[int, int]] = ()) -> None:
        self.text, self.kept = text, kept
        spans = words_in(text)
        if words and len(words) != len(spans):
            spans = _located(text, words)
        self.words = _with_kept([Word(start, end, *_core(text, start, end)) for start, end in spans], kept)
        self._kept_ends = [end for _, end in kept]
        self._firsts = [word.first for word in self.words]
        self._lasts = [word.last for word in self.words]
        self._starts = [word.start for word in self.words]
        self._ends = [word.end for word in self.words]

    def __len__(self) -> int:
        return len(self.words)

    def inside(self, start: int, end: int) -> range:
        """The words of which a part that is more than punctuation stands between these places."""
        return range(bisect_right(self._lasts, start), bisect_left(self._firsts, end))

    def touching(self, start: int, end: int) -> range:
        """The words of which anything stands between these places."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def whole(self, place: int, *, before: bool = False) -> int:
        """A place that is not within anything kept: its end, or what stands before it."""
        at = bisect_left(self._kept_ends, place)
        if at < len(self.kept) and self.kept[at][0] < place < self.kept[at][1]:
            return self.kept[at][0] if before else self.kept[at][1]
        return place

    def beside(self, place: int) -> tuple[int, int]:
        """The last word that begins before a place, and the first that ends behind it; one word if it holds it."""
        return bisect_left(self._starts, place) - 1, bisect_right(self._ends, place)


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    is_alone = False  # the last character was of a script without spaces
    for at in range(start, end):
        if found and attaches(text[at]):
            found[-1] = (found[-1][0], at + 1)
            continue
        before, is_alone = is_alone, is_spaceless(text[at])
        if found and not before and not is_alone:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def _located(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Look for each word behind the one before; what is not spelt so takes what comes next."""
    found: list[tuple[int, int]] = []
    chunks = words_in(text)
    ends = [end for _, end in chunks]
    at = 0
    for word in words:
        place = text.find(word, at, at + len(word) + _FAR) if word else at
        if place >= 0:
            end = place + len(word)
        else:
            chunk = bisect_right(ends, at)
            place, end = chunks[chunk] if chunk < len(chunks) else (len(text), len(text))
            place = max(place, at)
        found.append((place, end))
        at = end
    return found


def _with_kept(words: list[Word], kept: Sequence[tuple[int, int]]) -> list[Word]:
    """The braces of a placeholder are no punctuation around it."""
    ends = [word.end for word in words]
    for start, end in kept:
        for place in range(bisect_right(ends, start), len(words)):
            word = words[place]
            if word.start >= end:
                break
            first, last = min(word.first, max(start, word.start)), max(word.last, min(end, word.end))
            words[place] = Word(word.start, word.end, first, last)
    return words


def _core(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = start, end
    while first < last and not text[first].isalnum():
        first += 1
    while last > first and not (text[last - 1].isalnum() or attaches(text[last - 1])):
        last -= 1
    return (first, last) if first < last else (start, end)
