"""Draws from all segmentations of a word, by their probabilities."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.tokenizers.sentencepiece import ScoredToken, UnigramLattice, UnigramTable

SCORES = {"a": -2.0, "b": -2.5, "ab": -3.0, "ba": -4.0, "aba": -5.0, "bb": -3.5}
TABLE = UnigramTable({text: ScoredToken(number, score) for number, (text, score) in enumerate(SCORES.items())}, -15.0)


def segmentations(text: str) -> Iterator[list[str]]:
    """Every way to cut a text into tokens and strange characters."""
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        head = text[:end]
        if head in SCORES or (end == 1 and head not in SCORES):
            for rest in segmentations(text[end:]):
                yield [head, *rest]


def weight(tokens: list[str], temperature: float) -> float:
    return math.exp(sum(SCORES.get(token, TABLE.strange) for token in tokens) / temperature)


def spelt(text: str, drawn: list[tuple[int, int]]) -> list[str]:
    """The tokens of a draw, found again by where they begin."""
    places = [place for _, place in drawn] + [len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("text", ["ab", "ababa", "abbab", "a?b"])
def test_draws_follow_the_probabilities(text: str, temperature: float):
    lattice, generator, times = UnigramLattice(text, TABLE, temperature), random.Random(1), 4000
    counts = Counter(tuple(spelt(text, lattice.draw(generator))) for _ in range(times))
    every = [tuple(tokens) for tokens in segmentations(text)]
    total = sum(weight(list(tokens), temperature) for tokens in every)
    assert set(counts) <= set(every)
    for tokens in every:
        expected = weight(list(tokens), temperature) / total
        assert abs(counts[tokens] / times - expected) < 4 * math.sqrt(expected / times) + 1e-3


@given(st.text("ab?é", min_size=1, max_size=40), st.floats(1e-3, 1e3), st.integers(0, 2**32))
def test_a_draw_spells_the_text(text: str, temperature: float, seed: int):
    drawn = UnigramLattice(text, TABLE, temperature).draw(random.Random(seed))
    for (token, _), part in zip(drawn, spelt(text, drawn), strict=True):
        known = TABLE.tokens.get(part)
        assert known is not None and token == known.id if token >= 0 else part in "?é"
    assert "".join(spelt(text, drawn)) == text


def test_a_low_temperature_draws_the_best():
    lattice = UnigramLattice("bab", TABLE, 1e-3)
    assert {tuple(spelt("bab", lattice.draw(random.Random(n)))) for n in range(50)} == {("b", "ab")}


def test_very_long_words_do_not_underflow():
    text = "ab" * 20_000
    assert "".join(spelt(text, UnigramLattice(text, TABLE, 1.0).draw(random.Random(0)))) == text
