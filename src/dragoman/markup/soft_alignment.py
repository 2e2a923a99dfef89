"""Compute a soft word alignment (weighted links between words) from attention weights.

Raw attention weights align badly: full stops and articles get weight from every target word, and rare words get none.
Three corrections are applied. Pairs with the same spelling in both languages (names, numbers, *Hotel*) get a bonus,
pairs near the diagonal are preferred, and rows and columns are normalized. The constants were chosen on one half of the
hand-aligned sentences of ``benchmarks.markup``, which reports on the other half.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

_EQUAL, _EQUAL_STEM = 2.0, 1.0
"""Added to the weight of two equal words, and of two words with the same stem."""
_STEM = 4  # letters
_DIAGONAL_BIAS = 2.0
_ROUNDS = 2
_MIN_SUM = 0.3  # a source word with a lower total weight is not scaled up to 1
_FOREIGN = 0.8
"""Cost of a target word that does not align with the words of its range."""
_COVERAGE = 0.2
"""Gain for covering all of a source word, distributed over the target words it aligns with."""

MIN_GAIN = 0.1 - _FOREIGN
"""A target word with a lower gain barely aligns with the words of its range."""

WeightedSentence = tuple[Sequence[str], Sequence[str], NDArray[np.float64]]
"""Source words, target words, and weights [tgt, src]."""


class SoftAlignment:
    """Soft alignment of a text, sentence by sentence: words of different sentences do not align.

    `sizes` are the numbers of source words and target words. `links` pair each target word with its best source word,
    and each source word that is then still unlinked with its best target word.
    """

    def __init__(self, sentences: Iterable[WeightedSentence]) -> None:
        given = list(sentences)
        self._sources = [0, *accumulate(len(source) for source, _, _ in given)]
        self._targets = [0, *accumulate(len(target) for _, target, _ in given)]
        self.sizes = self._sources[-1], self._targets[-1]
        self._gains: list[NDArray[np.float64]] = []  # each [tgt, src + 1], cumulative along the source
        links: list[tuple[int, int]] = []
        for source, target, weights in given:
            shared = _normalize(weights + _spelling_bonus(source, target)) if weights.size else weights
            before = self._sources[len(self._gains)], self._targets[len(self._gains)]
            links += ((before[0] + one, before[1] + other) for one, other in _links(shared))
            self._gains.append(_cumulative_gains(shared))
        self._total_gains = np.concatenate([np.zeros(0), *(sums[:, -1] for sums in self._gains)])  # [tgt]
        self.links = tuple(sorted(links))

    def gains(self, words: range) -> tuple[int, NDArray[np.float64]]:
        """Return the first target word of the sentences that contain `words`, and the gain of each target word there.

        A gain is the value of a target word in a range aligned with these source words.
        """
        first = bisect_right(self._sources, words.start) - 1
        end = bisect_left(self._sources, words.stop)
        begin = self._targets[first]
        found = self._total_gains[begin : self._targets[end]] - _FOREIGN
        for place in sorted({first, end - 1}):  # these sentences may contain other words too
            sums, start = self._gains[place], self._sources[place]
            held = sums[:, min(words.stop - start, sums.shape[1] - 1)] - sums[:, max(words.start - start, 0)]
            found[self._targets[place] - begin : self._targets[place + 1] - begin] = held - _FOREIGN
        return begin, found


def _normalize(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights so that rows sum to 1 and columns approximately to 1. Shapes: [tgt, src] -> [tgt, src]."""
    rows, columns = ((np.arange(size) + 0.5) / size for size in weights.shape)
    shared: NDArray[np.float64] = weights * np.exp(-_DIAGONAL_BIAS * np.abs(rows[:, None] - columns))
    for _ in range(_ROUNDS):
        shared = shared / np.maximum(shared.sum(axis=0), _MIN_SUM)
        shared = shared / np.maximum(shared.sum(axis=1, keepdims=True), 1e-9)
    return shared


def _cumulative_gains(shared: NDArray[np.float64]) -> NDArray[np.float64]:
    coverage = shared / np.maximum(shared.sum(axis=0), _MIN_SUM)
    sums = np.zeros((shared.shape[0], shared.shape[1] + 1), order="F")  # `gains` reads columns
    np.cumsum((1 + _FOREIGN) * shared + _COVERAGE * coverage, axis=1, out=sums[:, 1:])
    return sums


def _links(shared: NDArray[np.float64]) -> list[tuple[int, int]]:
    if not shared.size:
        return []
    best = shared.argmax(axis=1)
    links = [(int(best[target]), int(target)) for target in np.flatnonzero(shared.max(axis=1) > 0)]
    linked = {source for source, _ in links}
    left = (int(source) for source in np.flatnonzero(shared.max(axis=0) > 0) if int(source) not in linked)
    return links + [(source, int(shared[:, source].argmax())) for source in left]


def _spelling_bonus(source: Sequence[str], target: Sequence[str]) -> NDArray[np.float64]:
    """Return the bonus of each pair of words for equal spelling. Shapes: [tgt, src]."""
    numbers: dict[str, int] = {}
    plain = [[_normalize_spelling(word) for word in words] for words in (source, target)]
    same, stem = (
        [np.array([numbers.setdefault(word[:cut], len(numbers)) for word in words], dtype=np.int64) for words in plain]
        for cut in (None, _STEM)
    )
    is_long = [np.array([len(word) >= _STEM for word in words], dtype=bool) for words in plain]
    begins = (stem[1][:, None] == stem[0]) & is_long[1][:, None] & is_long[0]
    return np.where(same[1][:, None] == same[0], _EQUAL, np.where(begins, _EQUAL_STEM, 0.0))


def _normalize_spelling(word: str) -> str:
    """Return a word in lower case without surrounding punctuation; a word of punctuation only is unchanged."""
    first, last = 0, len(word)
    while first < last and not word[first].isalnum():
        first += 1
    while last > first and not word[last - 1].isalnum():
        last -= 1
    return word[first:last].casefold() or word
