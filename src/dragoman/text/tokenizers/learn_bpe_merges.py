"""Learn additional merges of byte-pair encoding from words that are already segmented.

Each step merges the most frequent pair of neighbouring tokens into one token.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from dragoman.text.characters import attaches
from dragoman.text.tokenizers.notation import SPACE_MARK

CutWord = tuple[list[str], int]
"""The tokens of a word, and its frequency."""

_LONGEST = 16  # characters of a token, as in SentencePiece


def learn_merges(words: Iterable[CutWord], *, max_merges: int, min_count: int, known: Iterable[str] = ()) -> list[str]:
    """Return up to ``max_merges`` new tokens in the order of merging, each with a count of ``min_count`` or more.

    Each token joins two neighbours that are tokens of the words or earlier merges. ``known`` tokens are not made.
    Equal counts are ordered by code points.
    """
    merging = _Merging(words, frozenset(known))
    made: list[str] = []
    while len(made) < max_merges and (token := merging.next_token(min_count)) is not None:
        merging.make(token)
        made.append(token)
    return made


class _Merging:
    """Words during merging, and the count of each pair of neighbours by the token they would make."""

    def __init__(self, words: Iterable[CutWord], known: frozenset[str]) -> None:
        self._words = [(list(tokens), count) for tokens, count in words]
        self._barred = set(known)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._places: defaultdict[str, set[int]] = defaultdict(set)  # words that contain the pair, or once did
        for number in range(len(self._words)):
            self._count(number, 1)
        self._heap = [(-count, token) for token, count in self._counts.items()]
        heapq.heapify(self._heap)

    def next_token(self, min_count: int) -> str | None:
        """Return the most frequent token; heap entries with outdated counts are pushed again."""
        while self._heap:
            count, token = heapq.heappop(self._heap)
            now = self._counts.get(token, 0)
            if now == -count and now >= min_count:
                return token
            if min_count <= now < -count:
                heapq.heappush(self._heap, (-now, token))
        return None

    def make(self, token: str) -> None:
        """Join the two neighbours in all words."""
        self._barred.add(token)
        before = dict[str, int]()
        for number in sorted(self._places.pop(token)):
            self._count(number, -1, before)
            self._words[number] = (_joined(self._words[number][0], token), self._words[number][1])
            self._count(number, 1, before)
        self._counts.pop(token, None)
        for other, count in before.items():
            if self._counts.get(other, 0) > count:
                heapq.heappush(self._heap, (-self._counts[other], other))

    def _count(self, number: int, sign: int, before: dict[str, int] | None = None) -> None:
        """Add or subtract the neighbours of a word; store previous counts in ``before``."""
        tokens, times = self._words[number]
        for left, right in pairwise(tokens):
            token = left + right
            if token in self._barred or not _fits(token):
                continue
            if before is not None:
                before.setdefault(token, self._counts[token])
            self._counts[token] += sign * times
            if sign > 0:
                self._places[token].add(number)


def _joined(tokens: list[str], token: str) -> list[str]:
    joined: list[str] = []
    place = 0
    while place < len(tokens):
        together = place + 1 < len(tokens) and tokens[place] + tokens[place + 1] == token
        joined.append(token if together else tokens[place])
        place += 2 if together else 1
    return joined


def _fits(token: str) -> bool:
    """Whether a token is valid: short, within a word, and all letters, all digits or all other characters."""
    body = token.removeprefix(SPACE_MARK)
    if not body or len(token) > _LONGEST or SPACE_MARK in body:
        return False
    if body.isalpha() or body.isdecimal():
        return True
    kinds = {"letter" if char.isalpha() or attaches(char) else "digit" if char.isdecimal() else "" for char in body}
    return len(kinds) == 1
