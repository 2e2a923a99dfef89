"""Permutations that are computed, not stored."""

import itertools
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.permutation import MAX_ITEMS, Permutation, mix, mix_key, mix_seed
from dragoman.errors import DataError

KEYS = 100
GOLDEN_SMALL = [8, 2, 3, 9, 6, 5, 1, 4, 7, 0]
GOLDEN_LARGE = [553214571683, 510242797157, 609013676288]


@given(st.integers(1, 3000), st.lists(st.integers(-(2**70), 2**70), max_size=4), st.integers(0, 2**40))
def test_every_number_is_met_once(size: int, key: list[int], turn: int):
    found = Permutation(size, tuple(key)).at(np.arange(size), turns=turn)
    assert sorted(found.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [65_536, 65_537, 200_001])
def test_every_number_is_met_once_in_larger_ones(size: int):
    found = Permutation(size, (1,)).at(np.arange(size))
    assert (np.sort(found) == np.arange(size)).all()


def test_the_order_of_questions_does_not_matter():
    permutation = Permutation(10**9, (5, 6))
    indices, turns = np.array([7, 123_456_789, 0, 7]), np.array([0, 1, 2, 3])
    together = permutation.at(indices, turns)
    asked = zip(indices.tolist(), turns.tolist(), strict=True)
    alone = [permutation.at(index, turn).item() for index, turn in asked]
    assert together.tolist() == alone
    assert len(set(together[[0, 3]].tolist())) == 2  # another turn, another place


def test_draws_are_the_same_on_every_machine():
    # A change of these numbers changes the order of the data of every run that is resumed.
    assert Permutation(10, (1, 2)).at(range(10)).tolist() == GOLDEN_SMALL
    assert Permutation(2**40, (1, 2)).at(range(3), turns=4).tolist() == GOLDEN_LARGE
    program = "from dragoman.data.permutation import Permutation; print(Permutation(10, (1, 2)).at(range(10)).tolist())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(GOLDEN_SMALL)


def test_keys_are_told_apart():
    keys = [(1, 23), (12, 3), (123,), (-1, 23), (1, 23, 0), ()]
    assert len({mix_key(key, 1)[0] for key in keys}) == len(keys)
    assert mix_key((1,), 20)[:8].tolist() == mix_key((1,), 8).tolist()


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_of_a_few_items_every_order_is_equally_likely(size: int):
    turns = 12_000
    asked = np.tile(np.arange(size), turns)
    found = Permutation(size, (1,)).at(asked, np.repeat(np.arange(turns), size)).reshape(turns, size)
    counts = Counter(map(tuple, found.tolist()))
    orders = list(itertools.permutations(range(size)))
    expected = turns / len(orders)
    chi = sum((counts[order] - expected) ** 2 / expected for order in orders)
    freedom = len(orders) - 1
    assert abs(chi - freedom) < 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [10**6, 2 * 10**8, 2**39 + 1, MAX_ITEMS])
def test_a_stretch_is_spread_evenly(size: int):
    stretch, cells = 4096, 64
    chi, between = [], []
    for key in range(KEYS):
        found = Permutation(size, (key, 3)).at(np.arange(stretch)) / size
        counts = np.bincount((found * cells).astype(int), minlength=cells)
        chi.append(((counts - stretch / cells) ** 2 / (stretch / cells)).sum())
        other = Permutation(size, (key, 4)).at(np.arange(stretch)) / size
        between.append(np.corrcoef(found, other)[0, 1])
    freedom = cells - 1
    assert abs(np.mean(chi) - freedom) < 4 * math.sqrt(2 * freedom / KEYS)
    assert abs(np.mean(between)) < 4 / math.sqrt(stretch * KEYS)


@pytest.mark.parametrize("size", [1000, 29_000, 100_000])
def test_what_was_near_is_not_near_again(size: int):
    fixed, kept, place = [], [], []
    for turn in range(KEYS):
        found = Permutation(size, (9,)).at(np.arange(size), turns=turn)
        fixed.append((found == np.arange(size)).sum())
        kept.append((np.diff(found) == 1).sum())  # neighbours that stay neighbours
        place.append(np.corrcoef(found, np.arange(size))[0, 1])
    for counts in (fixed, kept):  # both are 1 on average in a random order, with a variance of 1
        assert abs(np.mean(counts) - 1) < 4 / math.sqrt(KEYS)
    assert abs(np.mean(place)) < 4 / math.sqrt(size * KEYS)


@pytest.mark.parametrize("size", [0, -1, MAX_ITEMS + 1])
def test_sizes_that_cannot_be(size: int):
    with pytest.raises(DataError, match="a permutation must have from 1 to 2\\^40 items"):
        Permutation(size, (1,))


def test_a_step_of_splitmix64():
    """The first outputs of the published generator for the seeds 0 and 1234567."""
    assert mix(np.array([0, 1234567], dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]


def test_the_words_given_stay():
    words = np.arange(3, dtype=np.uint64)
    mix(words)
    assert words.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_seed_of_one_word_is_that_word(seed):
    assert mix_seed(seed).tolist() == mix(np.array([seed], dtype=np.uint64)).tolist()


def test_every_bit_of_a_seed_counts():
    words = {int(mix_seed(1 << bit)[0]) for bit in range(300)} | {int(mix_seed(0)[0])}
    assert len(words) == 301
