"""chrF of all pairs of a few texts, as sacreBLEU computes it for each."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dragoman.evaluation.metrics.pairwise_chrf import pairwise_chrf, rank_by_expected_chrf


@given(st.lists(st.text(alphabet="ab c.\té雪😀", max_size=14), min_size=1, max_size=5))
def test_values_are_those_of_sacrebleu(texts: list[str]):
    metric = CHRF()
    wanted = [[metric.sentence_score(ours, [theirs]).score / 100 for theirs in texts] for ours in texts]
    np.testing.assert_allclose(pairwise_chrf(texts), wanted, rtol=0, atol=1e-12)


def test_repeated_ngrams_are_clipped():
    found = pairwise_chrf(["the the the", "the cat"])
    metric = CHRF()
    assert found[0, 1] == metric.sentence_score("the the the", ["the cat"]).score / 100
    assert found[0, 1] != found[1, 0], "recall counts more than precision"


def test_the_text_that_is_closest_to_the_others_is_first():
    texts, metric = ["a dog runs", "a dog ran", "it rains", "a dog runs fast"], CHRF()
    best = max(texts, key=lambda text: sum(metric.sentence_score(text, [other]).score for other in texts))
    for order in permutations(texts):
        found = [order[place] for place in rank_by_expected_chrf(order)]
        assert found[0] == best
        assert found[-1] == "it rains"


def test_a_text_counts_as_often_as_it_was_drawn_and_is_returned_once():
    found = rank_by_expected_chrf(["a dog", "it rains", "a cat", "it rains"])
    assert found[0] == 1, "the first of equal texts"
    assert sorted(found) == [0, 1, 2]
