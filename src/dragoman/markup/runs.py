"""Which words of a translation belong to which tag of its source."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.markup.marked import Marked
from dragoman.markup.nesting import parents
from dragoman.markup.shares import LEAST_GAIN, Shares
from dragoman.markup.word_places import WordPlaces

__all__ = ["Run", "Runs"]

_OWN, _FOREIGN, _UNLINKED = 4, -2, -1
"""What a word is worth to a stretch that it stands in: if it belongs to it, if it belongs elsewhere, if to nothing."""
_APART = 1 << 40
"""More than any stretch is worth by its links: what it costs to stretch over another tag."""
_TAKEN = -1e6
"""The same by shares, for one word."""

Run = tuple[int, int]
"""Target words, the first and the last."""


class Runs:
    """For each tag of a text the stretch of target words that it holds, `of[place of the span]`, where there are any.

    `images` are the target words of a source word, `origins` the source words of a target word, and `words` the source
    words of a span.
    """

    def __init__(
        self,
        marked: Marked,
        source: WordPlaces,
        target: WordPlaces,
        links: Sequence[tuple[int, int]] | None,
        shares: Shares | None = None,
    ) -> None:
        self._sizes = len(source), len(target)
        self._shares = shares if shares is not None and shares.sizes == self._sizes else None
        self._link(self._shares.links if self._shares else links)
        self.parents = parents(marked.spans)
        self.children: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            self.children.setdefault(parent, []).append(place)
        self.words = [
            source.inside(span.start, span.end) if span.end > span.start else range(0) for span in marked.spans
        ]
        self.of: dict[int, Run] = {}
        for place in range(-1, len(marked.spans)):  # the outer come first
            if place in self.children:
                self._choose(place)

    def _link(self, links: Sequence[tuple[int, int]] | None) -> None:
        sources, targets = self._sizes
        known = [link for link in links or () if 0 <= link[0] < sources and 0 <= link[1] < targets]
        self.images: list[list[int]] = [[] for _ in range(sources)]
        self.origins: list[list[int]] = [[] for _ in range(targets)]
        for one, other in sorted(set(known or _by_proportion(sources, targets))):
            self.images[one].append(other)
            self.origins[other].append(one)
        self._images = np.array([image for images in self.images for image in images], dtype=np.int64)
        self._first = np.cumsum([0, *map(len, self.images)])  # [src + 1]: where in them those of a word begin
        worth = [_FOREIGN if origins else _UNLINKED for origins in self.origins]
        self._worth = np.cumsum([0, *worth])  # [tgt + 1]: of all words before

    def _choose(self, parent: int) -> None:
        """A run for each tag that one holds, none of them in that of another; those with few words choose first."""
        around = range(self._sizes[0]) if parent < 0 else self.words[parent]
        region = (0, self._sizes[1] - 1) if parent < 0 else self.of.get(parent, (0, -1))
        if region[0] > region[1]:
            return
        taken = _Taken()
        choose = self._likeliest if self._shares else self._best
        for place in sorted(self.children[parent], key=lambda place: len(self.words[place])):
            words = self.words[place]
            if words and words == around:  # and its brothers have none
                self.of[place] = region
            elif words:
                run = choose(words, region, taken) or self._unlinked(words, region, taken)
                if run is not None:
                    self.of[place] = run
                    taken.add(run)

    def _best(self, words: range, region: Run, taken: _Taken) -> Run | None:
        """The stretch that is worth most; of equals the one nearest to where the words stood, of those the shortest.

        It begins and ends with a word that is linked to one of these: all others cost something.
        """
        own = np.unique(self._images[self._first[words.start] : self._first[words.stop]])
        own = own[(own >= region[0]) & (own <= region[1])]
        own, after = taken.left(own)
        if not len(own):
            return None
        bonus = _OWN - (self._worth[own + 1] - self._worth[own])
        more = np.cumsum(bonus) - _APART * after
        starts, ends = self._worth[own] + more - bonus, self._worth[own + 1] + more
        least = np.minimum.accumulate(starts)
        first = np.maximum.accumulate(np.where(starts == least, np.arange(len(own)), 0))
        gain = ends - least
        best = np.flatnonzero(gain == gain.max())
        expected = (words.start + words.stop) / self._sizes[0] * self._sizes[1] - 1
        last = best[np.argmin(np.abs(own[first[best]] + own[best] - expected))]
        return int(own[first[last]]), int(own[last])

    def _likeliest(self, words: range, region: Run, taken: _Taken) -> Run | None:
        """The stretch that has most of these words, less what it has of others; None if nothing has any of them."""
        assert self._shares is not None
        start, gains = self._shares.gains(words)
        low, high = max(region[0], start), min(region[1] + 1, start + len(gains))
        if low >= high:
            return None
        gains = gains[low - start : high - start]
        for first, last in taken.between(low, high):
            gains[max(first - low, 0) : last + 1 - low] = _TAKEN
        if gains.max() < LEAST_GAIN:
            return None
        sums = np.concatenate([[0.0], np.cumsum(gains)])
        least = np.minimum.accumulate(sums)[:-1]
        last = int(np.argmax(sums[1:] - least))
        return low + int(np.flatnonzero(sums[: last + 1] == least[last])[-1]), low + last

    def _unlinked(self, words: range, region: Run, taken: _Taken) -> Run | None:
        """Words without a link between the translations of a tag's neighbours, if there are about as many as it has."""
        low, high = region
        left = max(self.images[words[0] - 1], default=-2) if words[0] else low - 1
        right = min(self.images[words.stop], default=-2) if words.stop < self._sizes[0] else high + 1
        if left < low - 1 or right > high + 1 or not 0 < right - left - 1 <= len(words) + 1:
            return None
        if any(self.origins[left + 1 : right]) or taken.between(left + 1, right):
            return None
        return left + 1, right - 1


class _Taken:
    """Runs that tags have already, apart from each other."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, run: Run) -> None:
        insort(self._firsts, run[0])
        insort(self._lasts, run[1])

    def between(self, low: int, high: int) -> list[Run]:
        """Those of which a word stands from `low` on and before `high`."""
        some = slice(bisect_left(self._lasts, low), bisect_left(self._firsts, high))
        return list(zip(self._firsts[some], self._lasts[some], strict=True))

    def left(self, words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Words that are in none of them, and for each of these how many stand before it."""
        after = np.zeros(len(words), dtype=np.int64)
        if self._firsts:
            after[:] = [bisect_right(self._firsts, word) for word in words.tolist()]
            passed = np.array([bisect_left(self._lasts, word) for word in words.tolist()], dtype=np.int64)
            words, after = words[after == passed], after[after == passed]
        return words, after


def _by_proportion(sources: int, targets: int) -> list[tuple[int, int]]:
    """Links of a translation of which nothing is known: in the order of the source."""
    if not sources:
        return []
    return [(int((place + 0.5) * sources / targets), place) for place in range(targets)]
