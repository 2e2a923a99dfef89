import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.data.readers.shifted_lines import MisalignedSpan, find_misaligned_spans

Lengths = NDArray[np.int64]
SEEDS = st.integers(0, 300)


def sides(count: int, seed: int = 0) -> tuple[Lengths, Lengths]:
    """Lengths of made-up translations: they scatter about as much as those of Europarl."""
    chance = np.random.default_rng(seed)
    source = chance.lognormal(4.6, 0.7, count)
    return source.astype(np.int64), (source * chance.lognormal(-0.1, 0.25, count)).astype(np.int64)


def shifted(lengths: Lengths, first: int, last: int, shift: int) -> Lengths:
    """Lines of a span moved by some lines; what is overwritten is lost."""
    moved = lengths.copy()
    moved[first + shift : last + 1 + shift] = lengths[first : last + 1]
    return moved


@pytest.mark.parametrize("shift", [1, -1, 2, -2, 3, -3])
@pytest.mark.parametrize("first", [3, 100, 1234, 2800, 4590])
def test_a_span_is_found(shift: int, first: int):
    source, target = sides(5000)
    (found,) = find_misaligned_spans(source, shifted(target, first, first + 400, shift))
    assert found.shift == shift
    assert abs(found.first - first) < 30
    assert abs(found.last - (first + 400)) < 30


def test_several_spans_are_found():
    source, target = sides(5000)
    target = shifted(shifted(target, 1000, 1300, 1), 3000, 3400, -1)
    assert [found.shift for found in find_misaligned_spans(source, target)] == [1, -1]


def test_a_whole_block_is_found():
    source, target = sides(2000)
    assert find_misaligned_spans(source[1:], target[:-1])[0].shift == 1


@given(SEEDS, st.integers(0, 5000))
def test_aligned_sides_are_left_alone(seed: int, count: int):
    assert find_misaligned_spans(*sides(count, seed)) == []


@given(SEEDS)
def test_unrelated_sides_are_left_alone(seed: int):
    assert find_misaligned_spans(sides(5000, seed)[0], sides(5000, seed + 1)[1]) == []


@given(SEEDS, st.sampled_from([0, 1]))
def test_sorted_sides_are_left_alone(seed: int, jump: int):
    source, target = sides(5000, seed)
    order = np.argsort(source, kind="stable")
    assert find_misaligned_spans(source[order], np.roll(target[order], jump)) == []


@pytest.mark.parametrize("value", [0, 1, 50])
def test_sides_of_one_length_are_left_alone(value: int):
    assert find_misaligned_spans(np.full(1000, value), np.full(1000, value)) == []


def test_near_spans_of_the_same_shift_are_told_as_one():
    source, target = sides(5000)
    moved = shifted(target, 1000, 2000, 1)
    moved[1480:1500] = 3  # a stretch that fits nothing
    (found,) = find_misaligned_spans(source, moved)
    assert isinstance(found, MisalignedSpan)
