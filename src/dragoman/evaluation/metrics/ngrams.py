"""Count n-grams that translations and references have in common, for many sentences at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ngram_matches"]

_BLOCK = 1 << 16  # tokens sorted together: they fit the cache, and the overhead of calls is negligible


def ngram_matches(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], orders: int
) -> NDArray[np.int64]:
    """Count the matching n-grams of each order per sentence, clipped as in BLEU.

    A sentence is a list of words, or a string whose characters are the tokens. Shape: [sentences, orders].
    """
    found = []
    first, size = 0, 0
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True), start=1):
        size += len(hypothesis) + len(reference)
        if size >= _BLOCK or number == len(hypotheses):
            found.append(_matches(hypotheses[first:number], references[first:number], orders))
            first, size = number, 0
    return np.concatenate(found) if found else np.zeros((0, orders), np.int64)


def _matches(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], orders: int
) -> NDArray[np.int64]:
    sides = [*hypotheses, *references]
    lengths = np.array([len(side) for side in sides])
    tokens = _token_numbers(sides)
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(tokens))  # tokens up to the end of the sentence
    sentence = np.repeat(np.tile(np.arange(len(hypotheses)), 2), lengths)
    is_hypothesis = np.repeat(np.arange(len(sides)) < len(hypotheses), lengths)
    unigrams = _dense(sentence * (tokens.max(initial=0) + 1) + tokens)  # tokens of different sentences differ
    found = np.zeros((len(hypotheses), orders), np.int64)
    starts, grams = np.arange(len(tokens)), unigrams
    for order in range(1, orders + 1):
        if order > 1:
            is_complete = left[starts] >= order
            starts, grams = starts[is_complete], grams[is_complete]
            grams = _dense(grams * len(tokens) + unigrams[starts + order - 1])
        is_ours = is_hypothesis[starts]
        kinds = int(grams.max(initial=-1)) + 1
        common = np.minimum(np.bincount(grams[is_ours], minlength=kinds), np.bincount(grams[~is_ours], minlength=kinds))
        owner = np.zeros(kinds, np.int64)
        owner[grams] = sentence[starts]
        np.add.at(found[:, order - 1], owner, common)
    return found


def _token_numbers(sides: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Map every token of every side to a number."""
    if all(isinstance(side, str) for side in sides):
        text = "".join(side for side in sides if isinstance(side, str))
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(token, len(numbers)) for side in sides for token in side], np.int64)


def _dense(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber the keys from 0 without gaps."""
    return np.unique(keys, return_inverse=True)[1]
