"""chrF between all pairs of a few texts, for minimum Bayes risk decoding; without sacreBLEU, whose values it has."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ORDERS, _BETA = 6, 2.0  # of chrF2, sacreBLEU's default


def rank_by_expected_chrf(texts: Sequence[str]) -> list[int]:
    """Return the places of the different samples by argmax_h Σ_r chrF(h, r). Paper: [eikema2022]."""
    counts = Counter(texts)  # in the order of their first occurrence
    expected = pairwise_chrf(list(counts)) @ np.array(list(counts.values()), np.float64)
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    places = [first[text] for text in counts]
    return [places[number] for number in np.argsort(-expected, kind="stable").tolist()]


def pairwise_chrf(texts: Sequence[str]) -> NDArray[np.float64]:
    """chrF2, from 0 to 1, of every text with every text as its reference. Shapes: -> [hypotheses, references]."""
    characters = ["".join(text.split()) for text in texts]
    lengths = np.array([len(each) for each in characters], np.int64)
    points = np.frombuffer("".join(characters).encode("utf-32-le", "surrogatepass"), np.uint32)
    owner = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(points))  # characters up to the end of the text
    unigrams = _renumber(points.astype(np.int64))
    precision, recall, orders = (np.zeros((len(texts), len(texts))) for _ in range(3))
    starts, grams = np.arange(len(points)), unigrams
    for order in range(1, _ORDERS + 1):
        is_complete = left[starts] >= order
        starts, grams = starts[is_complete], grams[is_complete]
        if order > 1:
            grams = _renumber(grams * len(points) + unigrams[starts + order - 1])
        matches = _matches(grams, owner[starts], len(texts))
        sizes = np.maximum(lengths - order + 1, 0)
        precision += matches / np.maximum(sizes, 1)[:, None]
        recall += matches / np.maximum(sizes, 1)[None, :]
        orders += (sizes[:, None] > 0) & (sizes[None, :] > 0)  # the others have no matches
    precision /= np.maximum(orders, 1)
    recall /= np.maximum(orders, 1)
    divisor = _BETA**2 * precision + recall
    return (1 + _BETA**2) * precision * recall / np.where(divisor > 0, divisor, 1.0)


def _matches(grams: NDArray[np.int64], owner: NDArray[np.intp], texts: int) -> NDArray[np.float32]:
    """Clipped matches of all pairs: the k-th occurrences of an n-gram in two texts match. Shapes: -> [texts, texts]."""
    keys = grams * texts + owner
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    occurrence = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    feature = _renumber(grams[order] * (len(keys) + 1) + occurrence)
    present = np.zeros((texts, int(feature.max(initial=-1)) + 1), np.float32)
    present[owner[order], feature] = 1.0
    return present @ present.T


def _renumber(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the distinct keys from 0."""
    return np.unique(keys, return_inverse=True)[1]
