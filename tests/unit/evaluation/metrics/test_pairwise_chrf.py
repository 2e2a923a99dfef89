"""chrF of all pairs of a few texts, as sacreBLEU computes it for each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dragoman.evaluation.metrics.pairwise_chrf import pairwise_chrf


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
