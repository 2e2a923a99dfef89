"""Stirring of 64 bits."""

import numpy as np
import pytest

from dragoman.data.duplicates.hash_mixing import mix, mix_seed


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
