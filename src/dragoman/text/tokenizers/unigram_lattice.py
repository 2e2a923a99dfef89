"""Sample segmentations of a word from a unigram model: subword regularization. Paper: [kudo2018b].

A segmentation s is drawn with a probability proportional to p(s)^(1 / temperature), by forward filtering and backward
sampling over all segmentations.
"""

import math
import random
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple


class ScoredToken(NamedTuple):
    """A token of the vocabulary: its id and its log-probability."""

    id: int
    score: float


class UnigramTable:
    """Tokens of a unigram model by their text, and the score of unknown characters."""

    def __init__(self, tokens: Mapping[str, ScoredToken], strange: float) -> None:
        beginnings = {token[:end] for token in tokens for end in range(1, len(token))}
        self.tokens: Mapping[str, ScoredToken | None] = {**dict.fromkeys(beginnings), **tokens}
        """None for the beginning of a token that is no token itself; no token begins with any other text."""
        self.strange = strange


class UnigramLattice:
    """All segmentations of a text: by end position, start, id (-1: unknown) and cumulative weight in flat arrays."""

    __slots__ = ("_begins", "_firsts", "_ids", "_totals", "text")

    def __init__(self, text: str, table: UnigramTable, temperature: float) -> None:
        self.text = text
        self._begins, self._ids, self._totals, self._firsts = array("i"), array("i"), array("d"), array("i", [0, 0])
        known, size, alpha = table.tokens, len(text), 0.0
        ends: list[list[tuple[int, int, float]]] = [[] for _ in range(size + 1)]
        for begin in range(size):
            for end in range(begin + 1, size + 1):
                if (part := text[begin:end]) in known:
                    token = known[part]
                elif end > begin + 1:
                    break
                else:
                    token = None
                if token is not None:
                    ends[end].append((begin, token.id, alpha + token.score / temperature))
                elif end == begin + 1:
                    ends[end].append((begin, -1, alpha + table.strange / temperature))
            alpha = self._finish(ends[begin + 1])
            ends[begin + 1].clear()

    def _finish(self, tokens: list[tuple[int, int, float]]) -> float:
        """Store the tokens that end at the next position; return the log-weight of all segmentations up to it."""
        begins, ids, logs = zip(*tokens, strict=True)
        highest: float = max(logs)
        self._begins.extend(begins)
        self._ids.extend(ids)
        self._totals.extend(accumulate([math.exp(log - highest) for log in logs]))
        self._firsts.append(len(self._ids))
        return highest + math.log(self._totals[-1])

    def draw(self, generator: random.Random) -> list[tuple[int, int]]:
        """Draw one segmentation: id and start of each token. An unknown character has the id -1."""
        drawn: list[tuple[int, int]] = []
        begins, ids, totals, firsts = self._begins, self._ids, self._totals, self._firsts
        end = len(self.text)
        while end:
            first, after = firsts[end], firsts[end + 1]
            chosen = first
            if after > first + 1:
                chosen = bisect_left(totals, generator.random() * totals[after - 1], first, after)
            end = begins[chosen]
            drawn.append((ids[chosen], end))
        drawn.reverse()
        return drawn
