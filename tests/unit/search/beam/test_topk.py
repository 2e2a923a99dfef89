"""The fast way to the best candidates is the plain one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search.beam.algorithms import Candidates, topk_candidates, topk_candidates_by_sorting


def assert_same(found: Candidates, wanted: Candidates) -> None:
    np.testing.assert_array_equal(found.log_probs, wanted.log_probs)
    np.testing.assert_array_equal(found.parents, wanted.parents)
    np.testing.assert_array_equal(found.tokens, wanted.tokens)


@given(
    sentences=st.integers(1, 4),
    width=st.integers(1, 6),
    vocab=st.one_of(st.integers(1, 700), st.sampled_from([320, 321, 640, 1024, 1999])),
    count=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    dead=st.booleans(),
)
def test_blocks_find_what_sorting_finds(
    sentences: int, width: int, vocab: int, count: int, seed: int, dead: bool
) -> None:
    numbers = np.random.default_rng(seed)
    log_probs = numbers.normal(size=(sentences, width, vocab)).astype(np.float32)
    running = numbers.normal(size=(sentences, width))
    if dead:
        running[:, 0] = -np.inf
        log_probs[..., :: max(1, vocab // 5)] = -np.inf
        running[:, -1] = 0.0
        log_probs[:, :, numbers.integers(vocab) :] = -np.inf
    found, wanted = (search(log_probs, running, count) for search in (topk_candidates, topk_candidates_by_sorting))
    alive = np.isfinite(wanted.log_probs)
    assert found.tokens.max() < vocab, "also where all that may be written has been taken"
    np.testing.assert_array_equal(found.log_probs, wanted.log_probs)
    np.testing.assert_array_equal(found.parents[alive], wanted.parents[alive])
    np.testing.assert_array_equal(found.tokens[alive], wanted.tokens[alive])


def test_equal_scores_go_by_place_in_beam_and_vocabulary() -> None:
    found = topk_candidates_by_sorting(np.zeros((1, 2, 3), np.float32), np.zeros((1, 2)), 6)
    assert found.parents.tolist() == [[0, 0, 0, 1, 1, 1]]
    assert found.tokens.tolist() == [[0, 1, 2, 0, 1, 2]]


def test_the_best_come_first_and_carry_what_they_continue() -> None:
    log_probs = np.full((1, 2, 400), -9.0, np.float32)
    log_probs[0, 0, 7], log_probs[0, 1, 399] = -1.0, -0.5
    found = topk_candidates(log_probs, np.array([[-1.0, -2.0]]), 2)
    assert found.parents.tolist() == [[0, 1]]
    assert found.tokens.tolist() == [[7, 399]]
    assert found.log_probs.tolist() == [[-2.0, -2.5]]
    assert found.log_probs.dtype == np.float64
