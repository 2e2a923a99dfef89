"""Edits equal those of sacreBLEU, also if its search stops early or its band is too narrow."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import lib_ter

from dragoman.evaluation.metrics import ter
from dragoman.evaluation.metrics.ter import count_edits


def _wanted(hypothesis: list[str], reference: list[str]) -> int:
    return lib_ter.translation_edit_rate(hypothesis, reference)[0]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "count"),
    [
        ("a b c", "a b c", 0),
        ("a x c", "a b c", 1),
        ("a b", "a b c", 1),
        ("c a b", "a b c", 1),  # one shift
        ("d e a b c", "a b c d e", 1),  # of two words
        ("", "a b c", 3),
        ("a b c", "", 3),
        ("", "", 0),
    ],
)
def test_small_cases(hypothesis: str, reference: str, count: int) -> None:
    assert count_edits(hypothesis.split(), reference.split()) == count
    assert _wanted(hypothesis.split(), reference.split()) == count


@given(st.text("abcde", max_size=14), st.text("abcde", max_size=14))
def test_as_sacrebleu(hypothesis: str, reference: str) -> None:
    assert count_edits(list(hypothesis), list(reference)) == _wanted(list(hypothesis), list(reference))


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12))
def test_as_sacrebleu_where_order_is_all(first: list[int], second: list[int], length: int) -> None:
    hypothesis, reference = [str(word) for word in first[:length]], [str(word) for word in second]
    assert count_edits(hypothesis, reference) == _wanted(hypothesis, reference)


@pytest.mark.parametrize(
    ("length", "other", "vocabulary", "swaps"),
    [(40, 40, 60, 8), (60, 58, 40, 20), (70, 30, 100, 10), (12, 90, 30, 3), (90, 12, 30, 3), (2, 120, 5, 1)],
)
def test_as_sacrebleu_beyond_its_band(length: int, other: int, vocabulary: int, swaps: int) -> None:
    for seed in range(3):
        chance = random.Random(seed)
        reference = [str(chance.randrange(vocabulary)) for _ in range(length)]
        hypothesis = (reference + [str(chance.randrange(vocabulary)) for _ in range(other)])[:other]
        for _ in range(swaps):
            hypothesis.insert(chance.randrange(other), hypothesis.pop(chance.randrange(other)))
        assert count_edits(hypothesis, reference) == _wanted(hypothesis, reference)


def test_as_sacrebleu_where_it_tries_no_more_shifts() -> None:
    chance = random.Random(0)
    reference = [chance.choice("ab") for _ in range(40)]
    hypothesis = [chance.choice("ab") for _ in range(38)]
    assert count_edits(hypothesis, reference) == _wanted(hypothesis, reference)


def test_the_limits_are_those_of_sacrebleu() -> None:
    names = {
        "_MAX_SHIFT_WORDS": "_MAX_SHIFT_SIZE",
        "_MAX_SHIFT_DISTANCE": "_MAX_SHIFT_DIST",
        "_MAX_SHIFTS": "_MAX_SHIFT_CANDIDATES",
        "_BAND": "_BEAM_WIDTH",
    }
    for ours, theirs in names.items():
        assert getattr(ter, ours) == getattr(lib_ter, theirs)
