"""Locate the words of a tokenized sentence in a text whose spelling may differ slightly."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.characters import attaches
from dragoman.text.words import word_spans

_SEARCH_WINDOW = 80  # characters searched ahead for a word, in addition to its own length


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A word, ``text[start:end]``, and the same word without surrounding punctuation, ``text[first:last]``."""

    start: int
    end: int
    first: int
    last: int


class LocatedWords:
    """The words of a text in order. A word that is not found gets an empty span at its expected position."""

    def __init__(self, text: str, words: Sequence[str], kept: Sequence[tuple[int, int]] = ()) -> None:
        self.text, self.kept = text, kept
        spans = word_spans(text)
        if words and len(words) != len(spans):
            spans = _locate(text, words)
        self.words = _with_kept([WordSpan(start, end, *_core(text, start, end)) for start, end in spans], kept)
        self._kept_ends = [end for _, end in kept]
        self._firsts = [word.first for word in self.words]
        self._lasts = [word.last for word in self.words]
        self._starts = [word.start for word in self.words]
        self._ends = [word.end for word in self.words]

    def __len__(self) -> int:
        return len(self.words)

    def inside(self, start: int, end: int) -> range:
        """Return the words of which a part other than punctuation is in ``text[start:end]``."""
        return range(bisect_right(self._lasts, start), bisect_left(self._firsts, end))

    def touching(self, start: int, end: int) -> range:
        """Return the words of which any part is in ``text[start:end]``."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def outside_kept(self, place: int, *, before: bool = False) -> int:
        """Move a position inside a kept span to the end of the span, or to its start with `before`."""
        at = bisect_left(self._kept_ends, place)
        if at < len(self.kept) and self.kept[at][0] < place < self.kept[at][1]:
            return self.kept[at][0] if before else self.kept[at][1]
        return place

    def neighbours(self, place: int) -> tuple[int, int]:
        """Return the last word that starts before a position and the first that ends after it.

        They are the same word if the position is inside it.
        """
        return bisect_left(self._starts, place) - 1, bisect_right(self._ends, place)


def _locate(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Search for each word after the previous one; a word that is not found takes the next word of the text."""
    found: list[tuple[int, int]] = []
    chunks = word_spans(text)
    ends = [end for _, end in chunks]
    at = 0
    for word in words:
        place = text.find(word, at, at + len(word) + _SEARCH_WINDOW) if word else at
        if place >= 0:
            end = place + len(word)
        else:
            chunk = bisect_right(ends, at)
            place, end = chunks[chunk] if chunk < len(chunks) else (len(text), len(text))
            place = max(place, at)
        found.append((place, end))
        at = end
    return found


def _with_kept(words: list[WordSpan], kept: Sequence[tuple[int, int]]) -> list[WordSpan]:
    """Include the braces of a placeholder in its word: they are not surrounding punctuation."""
    ends = [word.end for word in words]
    for start, end in kept:
        for place in range(bisect_right(ends, start), len(words)):
            word = words[place]
            if word.start >= end:
                break
            first, last = min(word.first, max(start, word.start)), max(word.last, min(end, word.end))
            words[place] = WordSpan(word.start, word.end, first, last)
    return words


def _core(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = start, end
    while first < last and not text[first].isalnum():
        first += 1
    while last > first and not (text[last - 1].isalnum() or attaches(text[last - 1])):
        last -= 1
    return (first, last) if first < last else (start, end)
