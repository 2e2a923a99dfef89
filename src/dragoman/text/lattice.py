"""All ways to cut a word into pieces, to draw from: subword regularisation.

Paper: [kudo2018b]. A segmentation s is drawn with a probability proportional to p(s)^(1 / temperature), out of all
there are, by forward filtering and backward sampling.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Lattice", "Piece", "PieceTable"]


class Piece(NamedTuple):
    """A piece of the vocabulary: its number and the logarithm of its probability."""

    id: int
    score: float


class PieceTable(NamedTuple):
    """What a unigram model knows: pieces by their text, how long one can be, and what a strange character costs."""

    pieces: Mapping[str, Piece]
    longest: int
    strange: float


class _Ends(NamedTuple):
    """The pieces that end at one place: where each begins, its number (-1: a strange character), running weights."""

    begins: list[int]
    ids: list[int]
    totals: list[float]


class Lattice:
    """The segmentations of one text that is not empty."""

    def __init__(self, text: str, table: PieceTable, temperature: float) -> None:
        self.text = text
        self._ends: list[_Ends] = []
        alpha = [0.0]  # of each place: the logarithm of the weight of all ways to get there
        for end in range(1, len(text) + 1):
            begins, ids, scores = _ending_at(text, end, table)
            logs = [alpha[begin] + score / temperature for begin, score in zip(begins, scores, strict=True)]
            highest = max(logs)
            totals = list(accumulate(math.exp(log - highest) for log in logs))
            alpha.append(highest + math.log(totals[-1]))
            self._ends.append(_Ends(begins, ids, totals))

    def draw(self, generator: random.Random) -> list[tuple[int, int]]:
        """One segmentation: the number of each piece, and where it begins. A strange character has the number -1."""
        drawn: list[tuple[int, int]] = []
        end = len(self.text)
        while end:
            begins, ids, totals = self._ends[end - 1]
            chosen = bisect_left(totals, generator.random() * totals[-1]) if len(ids) > 1 else 0
            end = begins[chosen]
            drawn.append((ids[chosen], end))
        drawn.reverse()
        return drawn


def _ending_at(text: str, end: int, table: PieceTable) -> tuple[list[int], list[int], list[float]]:
    """Where the pieces that end here begin, their numbers, and their scores."""
    begins: list[int] = []
    ids: list[int] = []
    scores: list[float] = []
    for begin in range(max(0, end - table.longest), end):
        piece = table.pieces.get(text[begin:end])
        if piece is not None:
            begins.append(begin)
            ids.append(piece.id)
            scores.append(piece.score)
    if not begins or begins[-1] != end - 1:  # no piece is this one character
        begins.append(end - 1)
        ids.append(-1)
        scores.append(table.strange)
    return begins, ids, scores
