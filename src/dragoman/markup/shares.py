"""How much of each source word is in each target word, by the weights of a model: finer than links.

One map of attention is a poor aligner: a full stop or an article draws looks from everywhere, and rare words get none.
So words that are spelt alike in both languages (names, numbers, *Hotel*) are raised, pairs near the diagonal are
preferred a little, and what is looked at by many is shared out among them. The figures below were chosen on one half of
the hand-aligned sentences of ``benchmarks.markup``, which reports on the other half.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_GAIN", "Shares"]

_SAME, _SAME_STEM = 2.0, 1.0
"""What is added to the weight of two words that are the same, or begin alike."""
_STEM = 4  # letters
_NEARNESS = 2.0
_ROUNDS = 2
_LEAST_SUM = 0.3  # a source word that is looked at less in all is not raised to the others' level
_FOREIGN = 0.8
"""What a target word costs a stretch if it has nothing of its words."""
_SOUGHT = 0.2
"""What is added for all of a source word, however it is spread over the target."""

LEAST_GAIN = 0.1 - _FOREIGN
"""A word that gains a stretch less has next to nothing of its words."""

Sentence = tuple[Sequence[str], Sequence[str], NDArray[np.float64]]
"""Source words, target words, and weights [tgt, src]."""


class Shares:
    """The shares of a text, sentence by sentence: no target word has anything of another sentence.

    `sizes` are the numbers of source words and target words. `links` are the pairs that a target word has most of, and
    for source words that are in none of these the pair that has most of them.
    """

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        given = list(sentences)
        self._sources = [0, *accumulate(len(source) for source, _, _ in given)]
        self._targets = [0, *accumulate(len(target) for _, target, _ in given)]
        self.sizes = self._sources[-1], self._targets[-1]
        self._gains: list[NDArray[np.float64]] = []  # each [tgt, src + 1], summed up along the source
        links: list[tuple[int, int]] = []
        for source, target, weights in given:
            shared = _shared(weights + _alike(source, target)) if weights.size else weights
            before = self._sources[len(self._gains)], self._targets[len(self._gains)]
            links += ((before[0] + one, before[1] + other) for one, other in _links(shared))
            self._gains.append(_summed(shared))
        self._whole = np.concatenate([np.zeros(0), *(sums[:, -1] for sums in self._gains)])  # [tgt]
        self.links = tuple(sorted(links))

    def gains(self, words: range) -> tuple[int, NDArray[np.float64]]:
        """What target words are worth to a stretch for these source words, and which of them is the first.

        They are those of the sentences that the source words are in; all others are worth nothing to it.
        """
        first = bisect_right(self._sources, words.start) - 1
        end = bisect_left(self._sources, words.stop)
        begin = self._targets[first]
        found = self._whole[begin : self._targets[end]] - _FOREIGN
        for place in sorted({first, end - 1}):  # which may hold other words too
            sums, start = self._gains[place], self._sources[place]
            held = sums[:, min(words.stop - start, sums.shape[1] - 1)] - sums[:, max(words.start - start, 0)]
            found[self._targets[place] - begin : self._targets[place + 1] - begin] = held - _FOREIGN
        return begin, found


def _shared(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that add up to 1 in a row and, about, in a column. Shapes: [tgt, src] -> [tgt, src]."""
    rows, columns = ((np.arange(size) + 0.5) / size for size in weights.shape)
    shared: NDArray[np.float64] = weights * np.exp(-_NEARNESS * np.abs(rows[:, None] - columns))
    for _ in range(_ROUNDS):
        shared = shared / np.maximum(shared.sum(axis=0), _LEAST_SUM)
        shared = shared / np.maximum(shared.sum(axis=1, keepdims=True), 1e-9)
    return shared


def _summed(shared: NDArray[np.float64]) -> NDArray[np.float64]:
    sought = shared / np.maximum(shared.sum(axis=0), _LEAST_SUM)
    sums = np.zeros((shared.shape[0], shared.shape[1] + 1))
    np.cumsum((1 + _FOREIGN) * shared + _SOUGHT * sought, axis=1, out=sums[:, 1:])
    return sums


def _links(shared: NDArray[np.float64]) -> list[tuple[int, int]]:
    if not shared.size:
        return []
    best = shared.argmax(axis=1)
    links = [(int(best[target]), int(target)) for target in np.flatnonzero(shared.max(axis=1) > 0)]
    linked = {source for source, _ in links}
    left = (int(source) for source in np.flatnonzero(shared.max(axis=0) > 0) if int(source) not in linked)
    return links + [(source, int(shared[:, source].argmax())) for source in left]


def _alike(source: Sequence[str], target: Sequence[str]) -> NDArray[np.float64]:
    """What words gain by their spelling. Shapes: [tgt, src]."""
    numbers: dict[str, int] = {}
    plain = [[_plain(word) for word in words] for words in (source, target)]
    same, stem = (
        [np.array([numbers.setdefault(word[:cut], len(numbers)) for word in words], dtype=np.int64) for words in plain]
        for cut in (None, _STEM)
    )
    is_long = [np.array([len(word) >= _STEM for word in words], dtype=bool) for words in plain]
    begins = (stem[1][:, None] == stem[0]) & is_long[1][:, None] & is_long[0]
    return np.where(same[1][:, None] == same[0], _SAME, np.where(begins, _SAME_STEM, 0.0))


def _plain(word: str) -> str:
    """A word without the punctuation around it, in small letters; punctuation alone as it is."""
    first, last = 0, len(word)
    while first < last and not word[first].isalnum():
        first += 1
    while last > first and not word[last - 1].isalnum():
        last -= 1
    return word[first:last].casefold() or word
