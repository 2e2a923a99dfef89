"""Sample segmentations of a word from a unigram model: subword regularization. Paper: [kudo2018b].

A segmentation s is drawn with a probability proportional to p(s)^(1 / temperature), by forward filtering and backward
sampling over all segmentations.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple


class ScoredToken(NamedTuple):
    """A token of the vocabulary: its id and its log-probability."""

    id: int
    score: float


class UnigramTable(NamedTuple):
    """Tokens of a unigram model by their text, the maximum length of a token, and the score of unknown characters."""

    tokens: Mapping[str, ScoredToken]
    longest: int
    strange: float


class _Ends(NamedTuple):
    """Tokens that end at one position: start, id (-1 for an unknown character) and cumulative weight of each."""

    begins: list[int]
    ids: list[int]
    totals: list[float]


class UnigramLattice:
    """All segmentations of a text that is not empty."""

    def __init__(self, text: str, table: UnigramTable, temperature: float) -> None:
        self.text = text
        self._ends: list[_Ends] = []
        alpha = [0.0]  # per position: log-weight of all segmentations of the text before it
        for end in range(1, len(text) + 1):
            begins, ids, scores = _ending_at(text, end, table)
            logs = [alpha[begin] + score / temperature for begin, score in zip(begins, scores, strict=True)]
            highest = max(logs)
            totals = list(accumulate(math.exp(log - highest) for log in logs))
            alpha.append(highest + math.log(totals[-1]))
            self._ends.append(_Ends(begins, ids, totals))

    def draw(self, generator: random.Random) -> list[tuple[int, int]]:
        """Draw one segmentation: id and start of each token. An unknown character has the id -1."""
        drawn: list[tuple[int, int]] = []
        end = len(self.text)
        while end:
            begins, ids, totals = self._ends[end - 1]
            chosen = bisect_left(totals, generator.random() * totals[-1]) if len(ids) > 1 else 0
            end = begins[chosen]
            drawn.append((ids[chosen], end))
        drawn.reverse()
        return drawn


def _ending_at(text: str, end: int, table: UnigramTable) -> tuple[list[int], list[int], list[float]]:
    """Return starts, ids and scores of the tokens that end at a position."""
    begins: list[int] = []
    ids: list[int] = []
    scores: list[float] = []
    for begin in range(max(0, end - table.longest), end):
        token = table.tokens.get(text[begin:end])
        if token is not None:
            begins.append(begin)
            ids.append(token.id)
            scores.append(token.score)
    if not begins or begins[-1] != end - 1:  # no token is this one character
        begins.append(end - 1)
        ids.append(-1)
        scores.append(table.strange)
    return begins, ids, scores
