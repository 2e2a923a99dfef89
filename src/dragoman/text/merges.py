"""Byte-pair encoding that goes on where an earlier one stopped: further merges, learnt from words that are cut already.

Of all neighbours the two that are seen together most often become one piece, and so on.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from dragoman.text.characters import attaches
from dragoman.text.notation import SPACE_MARK

__all__ = ["CutWord", "learn_merges"]

CutWord = tuple[list[str], int]
"""A word as the pieces it is cut into, and how often it is seen."""

_LONGEST = 16  # characters of a piece, as SentencePiece has it


def learn_merges(words: Iterable[CutWord], *, most: int, least_count: int, known: Iterable[str] = ()) -> list[str]:
    """Return up to ``most`` new pieces in the order in which they are made, each seen ``least_count`` times or more.

    Every piece is two neighbours joined, which are pieces of the words or were made before it, so that it is reached
    by merging in this order. None of those that are ``known`` is made. Equal counts are ordered by code points.
    """
    merging = _Merging(words, frozenset(known))
    made: list[str] = []
    while len(made) < most and (piece := merging.next_piece(least_count)) is not None:
        merging.make(piece)
        made.append(piece)
    return made


class _Merging:
    """Words that are merged step by step, and how often each two neighbours are seen, by the piece they would make."""

    def __init__(self, words: Iterable[CutWord], known: frozenset[str]) -> None:
        self._words = [(list(pieces), count) for pieces, count in words]
        self._barred = set(known)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._places: defaultdict[str, set[int]] = defaultdict(set)  # the words that hold the two, or once held them
        for number in range(len(self._words)):
            self._count(number, 1)
        self._heap = [(-count, piece) for piece, count in self._counts.items()]
        heapq.heapify(self._heap)

    def next_piece(self, least_count: int) -> str | None:
        """The piece that is seen most often; an entry of the heap whose count is out of date goes back to its place."""
        while self._heap:
            count, piece = heapq.heappop(self._heap)
            now = self._counts.get(piece, 0)
            if now == -count and now >= least_count:
                return piece
            if least_count <= now < -count:
                heapq.heappush(self._heap, (-now, piece))
        return None

    def make(self, piece: str) -> None:
        """Join the two neighbours wherever they stand."""
        self._barred.add(piece)
        before = dict[str, int]()
        for number in sorted(self._places.pop(piece)):
            self._count(number, -1, before)
            self._words[number] = (_joined(self._words[number][0], piece), self._words[number][1])
            self._count(number, 1, before)
        self._counts.pop(piece, None)
        for other, count in before.items():
            if self._counts.get(other, 0) > count:
                heapq.heappush(self._heap, (-self._counts[other], other))

    def _count(self, number: int, sign: int, before: dict[str, int] | None = None) -> None:
        """Add the neighbours of a word, or take them away; what the counts were goes into ``before``."""
        pieces, times = self._words[number]
        for left, right in pairwise(pieces):
            piece = left + right
            if piece in self._barred or not _fits(piece):
                continue
            if before is not None:
                before.setdefault(piece, self._counts[piece])
            self._counts[piece] += sign * times
            if sign > 0:
                self._places[piece].add(number)


def _joined(pieces: list[str], piece: str) -> list[str]:
    joined: list[str] = []
    place = 0
    while place < len(pieces):
        together = place + 1 < len(pieces) and pieces[place] + pieces[place + 1] == piece
        joined.append(piece if together else pieces[place])
        place += 2 if together else 1
    return joined


def _fits(piece: str) -> bool:
    """Whether a piece may be like this: short, within a word, and all letters, all digits or all other signs."""
    body = piece.removeprefix(SPACE_MARK)
    if not body or len(piece) > _LONGEST or SPACE_MARK in body:
        return False
    if body.isalpha() or body.isdecimal():
        return True
    kinds = {"letter" if char.isalpha() or attaches(char) else "digit" if char.isdecimal() else "" for char in body}
    return len(kinds) == 1
