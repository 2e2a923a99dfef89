"""Choose the range of target words for each tag of the source text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.markup.soft_alignment import MIN_GAIN, SoftAlignment
from dragoman.markup.tagged_text import TaggedText, parent_indices
from dragoman.markup.word_spans import LocatedWords

_OWN, _FOREIGN, _UNLINKED = 4, -2, -1
"""Value of a word in a range: linked to the tag's words, linked to other words only, without a link."""
_OVERLAP_COST = 1 << 40
"""Cost of covering the range of another tag; more than the value of any range."""
_TAKEN_GAIN = -1e6
"""Gain of one word in the range of another tag, for a soft alignment."""
_MAX_DEPTH = 64
"""Levels of nested tags for which ranges are chosen; a level takes time proportional to the length of the text."""

WordRange = tuple[int, int]
"""First and last target word, both included."""


class TagRanges:
    """The range of target words of each tag.

    `by_span` maps the index of a span to its range; spans without target words are missing. `images` are the target
    words linked to each source word, `origins` the source words linked to each target word, and `words` the source
    words in each span. `inherited` are the spans below the deepest level for which ranges are chosen: a span has the
    range of its parent if no other child of the parent has words, and no range otherwise.
    """

    def __init__(
        self,
        tagged: TaggedText,
        source: LocatedWords,
        target: LocatedWords,
        links: Sequence[tuple[int, int]] | None,
        shares: SoftAlignment | None = None,
    ) -> None:
        self._sizes = len(source), len(target)
        self._shares = shares if shares is not None and shares.sizes == self._sizes else None
        self._link(self._shares.links if self._shares else links)
        self.parents = parent_indices(tagged.spans)
        self.children: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            self.children.setdefault(parent, []).append(place)
        self.words = [
            source.inside(span.start, span.end) if span.end > span.start else range(0) for span in tagged.spans
        ]
        self.by_span: dict[int, WordRange] = {}
        self.inherited: set[int] = set()
        levels = {-1: 0}
        for place in range(-1, len(tagged.spans)):  # outer spans first
            if place >= 0:
                levels[place] = levels[self.parents[place]] + 1
            if place in self.children and levels[place] < _MAX_DEPTH:
                self._choose(place)
            elif place in self.children:
                self._inherit(place)

    def _link(self, links: Sequence[tuple[int, int]] | None) -> None:
        sources, targets = self._sizes
        known = [link for link in links or () if 0 <= link[0] < sources and 0 <= link[1] < targets]
        self.images: list[list[int]] = [[] for _ in range(sources)]
        self.origins: list[list[int]] = [[] for _ in range(targets)]
        for one, other in sorted(set(known or _diagonal_links(sources, targets))):
            self.images[one].append(other)
            self.origins[other].append(one)
        self._images = np.array([image for images in self.images for image in images], dtype=np.int64)
        self._first = np.cumsum([0, *map(len, self.images)])  # [src + 1]: offsets of the words in _images
        worth = [_FOREIGN if origins else _UNLINKED for origins in self.origins]
        self._worth = np.cumsum([0, *worth])  # [tgt + 1]: sums over the preceding words

    def _choose(self, parent: int) -> None:
        """Choose disjoint ranges for the children of a tag; tags with fewer words choose first."""
        around = range(self._sizes[0]) if parent < 0 else self.words[parent]
        region = (0, self._sizes[1] - 1) if parent < 0 else self.by_span.get(parent, (0, -1))
        if region[0] > region[1]:
            return
        taken = _TakenRanges(self._sizes[1])
        choose = self._most_likely if self._shares else self._best
        for place in sorted(self.children[parent], key=lambda place: len(self.words[place])):
            words = self.words[place]
            if words and words == around:  # its siblings have no words
                self.by_span[place] = region
            elif words:
                chosen = choose(words, region, taken) or self._unlinked(words, region, taken)
                if chosen is not None:
                    self.by_span[place] = chosen
                    taken.add(chosen)

    def _inherit(self, parent: int) -> None:
        held = [place for place in self.children[parent] if self.words[place]]
        if len(held) == 1 and parent in self.by_span:
            self.by_span[held[0]] = self.by_span[parent]
            self.inherited.update(held)

    def _best(self, words: range, region: WordRange, taken: _TakenRanges) -> WordRange | None:
        """Return the range with the highest value; ties go to the nearest to the diagonal, then to the shortest.

        It begins and ends with a word linked to one of `words`, since all other words have a negative value.
        """
        own = np.unique(self._images[self._first[words.start] : self._first[words.stop]])
        own = own[(own >= region[0]) & (own <= region[1])]
        own, after = taken.left(own)
        if not len(own):
            return None
        bonus = _OWN - (self._worth[own + 1] - self._worth[own])
        more = np.cumsum(bonus) - _OVERLAP_COST * after
        starts, ends = self._worth[own] + more - bonus, self._worth[own + 1] + more
        least = np.minimum.accumulate(starts)
        first = np.maximum.accumulate(np.where(starts == least, np.arange(len(own)), 0))
        gain = ends - least
        best = np.flatnonzero(gain == gain.max())
        expected = (words.start + words.stop) / self._sizes[0] * self._sizes[1] - 1
        last = best[np.argmin(np.abs(own[first[best]] + own[best] - expected))]
        return int(own[first[last]]), int(own[last])

    def _most_likely(self, words: range, region: WordRange, taken: _TakenRanges) -> WordRange | None:
        """Return the range with the highest total gain; None if no target word aligns with these words."""
        assert self._shares is not None
        start, gains = self._shares.gains(words)
        low, high = max(region[0], start), min(region[1] + 1, start + len(gains))
        if low >= high:
            return None
        gains = gains[low - start : high - start]
        gains[taken.words[low:high]] = _TAKEN_GAIN
        if gains.max() < MIN_GAIN:
            return None
        sums = np.concatenate([[0.0], np.cumsum(gains)])
        least = np.minimum.accumulate(sums)[:-1]
        last = int(np.argmax(sums[1:] - least))
        return low + int(np.flatnonzero(sums[: last + 1] == least[last])[-1]), low + last

    def _unlinked(self, words: range, region: WordRange, taken: _TakenRanges) -> WordRange | None:
        """Return the unlinked words between the translations of a tag's neighbours, if there are few enough."""
        low, high = region
        left = max(self.images[words[0] - 1], default=-2) if words[0] else low - 1
        right = min(self.images[words.stop], default=-2) if words.stop < self._sizes[0] else high + 1
        if left < low - 1 or right > high + 1 or not 0 < right - left - 1 <= len(words) + 1:
            return None
        if any(self.origins[left + 1 : right]) or taken.words[left + 1 : right].any():
            return None
        return left + 1, right - 1


class _TakenRanges:
    """Disjoint ranges that are already assigned to tags."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros(size, dtype=np.bool_)  # [tgt]: whether a word is in a range
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, chosen: WordRange) -> None:
        self.words[chosen[0] : chosen[1] + 1] = True
        insort(self._firsts, chosen[0])
        insort(self._lasts, chosen[1])

    def left(self, words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the words that are in no range, and for each the number of ranges before it."""
        after = np.zeros(len(words), dtype=np.int64)
        if self._firsts:
            after[:] = [bisect_right(self._firsts, word) for word in words.tolist()]
            passed = np.array([bisect_left(self._lasts, word) for word in words.tolist()], dtype=np.int64)
            words, after = words[after == passed], after[after == passed]
        return words, after


def _diagonal_links(sources: int, targets: int) -> list[tuple[int, int]]:
    """Return links along the diagonal, for a translation without an alignment."""
    if not sources:
        return []
    return [(int((place + 0.5) * sources / targets), place) for place in range(targets)]
