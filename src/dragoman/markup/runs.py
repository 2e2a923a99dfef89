"""Which words of a translation belong to which tag of its source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.markup.marked import Marked
from dragoman.markup.nesting import parents
from dragoman.markup.word_places import WordPlaces

__all__ = ["Run", "Runs"]

_OWN, _FOREIGN, _UNLINKED = 4, -2, -1
"""What a word is worth to a stretch that it stands in: if it belongs to it, if it belongs elsewhere, if to nothing."""
_TAKEN = -(1 << 40)

Run = tuple[int, int]
"""Target words, the first and the last."""


class Runs:
    """For each tag of a text the stretch of target words that it holds, `of[place of the span]`, where there are any.

    `images` are the target words of a source word, `origins` the source words of a target word, and `words` the source
    words of a span.
    """

    def __init__(
        self, marked: Marked, source: WordPlaces, target: WordPlaces, links: Sequence[tuple[int, int]] | None
    ) -> None:
        self._sizes = len(source), len(target)
        known = [link for link in links or () if 0 <= link[0] < len(source) and 0 <= link[1] < len(target)]
        self.images: list[list[int]] = [[] for _ in range(len(source))]
        self.origins: list[list[int]] = [[] for _ in range(len(target))]
        for one, other in sorted(set(known or _by_proportion(len(source), len(target)))):
            self.images[one].append(other)
            self.origins[other].append(one)
        self._images = np.array([image for images in self.images for image in images], dtype=np.int64)
        self._first = np.cumsum([0, *map(len, self.images)])  # [src + 1]: where in them those of a word begin
        self._worth = np.array(
            [_FOREIGN if origins else _UNLINKED for origins in self.origins], dtype=np.int64
        )  # [tgt]
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

    def _choose(self, parent: int) -> None:
        """A run for each tag that one holds, none of them in that of another; those with few words choose first."""
        around = range(self._sizes[0]) if parent < 0 else self.words[parent]
        low, high = (0, self._sizes[1] - 1) if parent < 0 else self.of.get(parent, (0, -1))
        if low > high:
            return
        worth = self._worth[low : high + 1].copy()
        for place in sorted(self.children[parent], key=lambda place: len(self.words[place])):
            words = self.words[place]
            if words and words == around:  # and its brothers have none
                self.of[place] = (low, high)
            elif words:
                run = self._best(words, worth, low) or self._unlinked(words, worth, low)
                if run is not None:
                    self.of[place] = run
                    worth[run[0] - low : run[1] + 1 - low] = _TAKEN

    def _best(self, words: range, worth: NDArray[np.int64], low: int) -> Run | None:
        """The stretch that is worth most; of equals the one nearest to where the words stood, of those the shortest."""
        own = self._images[self._first[words.start] : self._first[words.stop]] - low
        own = own[(own >= 0) & (own < len(worth))]
        own = own[worth[own] > _TAKEN]
        if not len(own):
            return None
        worth = worth.copy()
        worth[own] = _OWN
        sums = np.concatenate([[0], np.cumsum(worth)])
        least = np.minimum.accumulate(sums)[:-1]  # before each word
        starts = np.maximum.accumulate(np.where(sums[:-1] == least, np.arange(len(worth)), 0))
        gain = sums[1:] - least
        best = np.flatnonzero(gain == gain.max())
        expected = (words.start + words.stop) / self._sizes[0] * self._sizes[1] - 1 - 2 * low
        last = best[np.argmin(np.abs(starts[best] + best - expected))]
        return int(starts[last]) + low, int(last) + low

    def _unlinked(self, words: range, worth: NDArray[np.int64], low: int) -> Run | None:
        """Words without a link between the translations of a tag's neighbours, if there are about as many as it has."""
        left = max(self.images[words[0] - 1], default=-2) if words[0] else low - 1
        right = min(self.images[words.stop], default=-2) if words.stop < self._sizes[0] else low + len(worth)
        if left < low - 1 or right > low + len(worth) or not 0 < right - left - 1 <= len(words) + 1:
            return None
        return (left + 1, right - 1) if (worth[left + 1 - low : right - low] == _UNLINKED).all() else None


def _by_proportion(sources: int, targets: int) -> list[tuple[int, int]]:
    """Links of a translation of which nothing is known: in the order of the source."""
    if not sources:
        return []
    return [(int((place + 0.5) * sources / targets), place) for place in range(targets)]
