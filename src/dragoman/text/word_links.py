"""Link words of sentence pairs to their translations: IBM model 1 in both directions, where both agree."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.text.perturbation import WORD

TextPair = tuple[str, str]
Link = tuple[re.Match[str], re.Match[str]]

_MOST_CELLS = 3_000_000  # pairs of words that are counted: about 2 s
_ROUNDS = 5
_LEAST_COUNT = 3  # sentence pairs that have a word
_LEAST = 0.3  # geometric mean of the probabilities of both directions
_DISTANCE = 0.5  # how much a link loses from one end of a sentence to the other: it decides between equal words


@dataclass(frozen=True)
class WordLinks:
    """Translations of each source word in lower case, with the geometric mean of both directions' probabilities."""

    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def learn(cls, pairs: Iterable[TextPair]) -> Self:
        """Estimate the probabilities of translations from the first pairs, as many as take about two seconds."""
        names: tuple[dict[str, int], dict[str, int]] = {"": 0}, {"": 0}  # 0 translates words without translation
        rows: list[tuple[list[int], list[int]]] = []
        cells = 0
        for pair in pairs:
            words = [{word.lower() for word in WORD.findall(text)} for text in pair]
            cells += (len(words[0]) + 1) * (len(words[1]) + 1)
            if cells > _MOST_CELLS:
                break
            if all(words):
                one, other = (
                    [known.setdefault(word, len(known)) for word in sorted(side)]
                    for known, side in zip(names, words, strict=True)
                )
                rows.append((one, other))
        return cls(_estimate(rows, names)) if rows else cls({})

    def find(self, pair: TextPair) -> list[Link]:
        """Return the words of both sides that are each other's best translation, in the order of the source."""
        sides = [list(WORD.finditer(text)) for text in pair]
        lengths = [len(text) or 1 for text in pair]
        others = [(word[0].lower(), word.start() / lengths[1]) for word in sides[1]]
        forward: dict[int, tuple[float, int]] = {}
        backward: dict[int, tuple[float, int]] = {}
        for one, word in enumerate(sides[0]):
            if known := self.scores.get(word[0].lower()):
                place = word.start() / lengths[0]
                for other, (name, at) in enumerate(others):
                    if name in known:
                        score = known[name] * (1 - _DISTANCE * abs(place - at))
                        forward[one] = max(forward.get(one, (0.0, 0)), (score, other))
                        backward[other] = max(backward.get(other, (0.0, 0)), (score, one))
        return [(sides[0][one], sides[1][other]) for one, (_, other) in forward.items() if backward[other][1] == one]


def _estimate(
    rows: list[tuple[list[int], list[int]]], names: tuple[dict[str, int], dict[str, int]]
) -> dict[str, dict[str, float]]:
    """Return the scores of translations that are good enough, from the words of each pair."""
    cells = [np.add.outer(np.array([0, *one]) * len(names[1]), np.array([0, *other])).ravel() for one, other in rows]
    keys, cell = np.unique(np.concatenate(cells), return_inverse=True)  # the two words of a cell, and its number
    words = np.divmod(keys, len(names[1]))
    together = np.bincount(cell)
    sizes = np.array([(len(one) + 1, len(other) + 1) for one, other in rows])
    probabilities = []
    for side in range(2):
        groups = _groups(sizes, side)
        probability = np.ones(len(keys))
        for _ in range(_ROUNDS):
            weights = np.where(words[side] == 0, 0.0, probability)[cell]  # the empty word has no translation
            shares = weights / np.maximum(np.bincount(groups, weights), 1e-300)[groups]
            counts = np.bincount(cell, shares)
            probability = counts / np.maximum(np.bincount(words[1 - side], counts), 1e-300)[words[1 - side]]
        probabilities.append(probability)
    scores = np.sqrt(probabilities[0] * probabilities[1])
    ids = [list(side) for side in names]
    found: dict[str, dict[str, float]] = {}
    is_good = (scores >= _LEAST) & (together >= _LEAST_COUNT) & (words[0] > 0) & (words[1] > 0)
    for number in np.flatnonzero(is_good).tolist():
        found.setdefault(ids[0][words[0][number]], {})[ids[1][words[1][number]]] = float(scores[number])
    return found


def _groups(sizes: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """Return a number for each cell, the same for those of one word of one pair. `side` is that of the word."""
    areas: NDArray[np.int64] = sizes[:, 0] * sizes[:, 1]
    place = np.arange(areas.sum()) - np.repeat(np.cumsum(areas) - areas, areas)
    width = np.repeat(sizes[:, 1], areas)
    word = place // width if side == 0 else place % width
    first: NDArray[np.int64] = np.repeat(np.cumsum(sizes[:, side]) - sizes[:, side], areas)
    return first + word
