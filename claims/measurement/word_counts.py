"""Count repeated words of translations, and source words that they drop.

A lexicon of the training corpus decides which source words a text translates, the same for all models: no attention
weights are used, which would differ between models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WORD_COLUMNS = ("words", "repeated", "translatable", "dropped")
"""Counts per sentence: words of the translation; words that occur more often than in the reference, and more than
once; source words that the reference translates; those of them that the translation does not."""

_ITERATIONS = 5
_LEAST = 0.05  # probability of a translation
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Lexicon:
    """Translations of source words."""

    translations: dict[str, frozenset[str]]

    def translated(self, source: Sequence[str], target: Sequence[str]) -> list[bool]:
        """Whether the target has a translation of each source word."""
        found = set(target)
        return [not found.isdisjoint(self.translations.get(word, ())) for word in source]


def learn_lexicon(sources: Sequence[str], targets: Sequence[str]) -> Lexicon:
    """Learn translation probabilities from sentence pairs by the first model of IBM. Paper: [brown1993] (section 4)."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    rows: list[NDArray[np.int64]] = []
    for source, target in zip(sources, targets, strict=True):
        sides = [
            np.array([known.setdefault(word, len(known)) for word in words(text)], np.int64)
            for text, known in zip((source, target), numbers, strict=True)
        ]
        rows.append(np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 2))
    lengths = [len(words(target)) for target in targets]
    first = np.cumsum([0, *lengths[:-1]])
    slots = np.concatenate(
        [
            start + np.tile(np.arange(n), len(row) // max(n, 1))
            for start, n, row in zip(first, lengths, rows, strict=True)
        ]
    )
    cells = np.concatenate(rows)  # [cells, 2]: source word, target word
    pairs, inverse = np.unique(cells[:, 0] * len(numbers[1]) + cells[:, 1], return_inverse=True)
    of_source = pairs // len(numbers[1])
    probability = np.ones(len(pairs))
    for _ in range(_ITERATIONS):
        weight = probability[inverse]
        share = weight / np.bincount(slots, weight)[slots]
        counts = np.bincount(inverse, share, len(pairs))
        probability = counts / np.bincount(of_source, counts)[of_source]
    names = list(numbers[0]), list(numbers[1])
    found: dict[str, set[str]] = {}
    for place in np.flatnonzero(probability >= _LEAST):
        source_word, target_word = divmod(int(pairs[place]), len(names[1]))
        found.setdefault(names[0][source_word], set()).add(names[1][target_word])
    return Lexicon({word: frozenset(translations) for word, translations in found.items()})


def count_words(
    lexicon: Lexicon, sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str]
) -> list[list[int]]:
    """Return the columns of `WORD_COLUMNS`, one value per sentence."""
    rows = []
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        ours, theirs, given = words(hypothesis), words(reference), words(source)
        expected = Counter(theirs)
        repeated = sum(max(0, count - max(1, expected[word])) for word, count in Counter(ours).items())
        in_reference, in_hypothesis = (lexicon.translated(given, each) for each in (theirs, ours))
        dropped = sum(wanted and not found for wanted, found in zip(in_reference, in_hypothesis, strict=True))
        rows.append((len(ours), repeated, sum(in_reference), dropped))
    return [list(column) for column in zip(*rows, strict=True)]
