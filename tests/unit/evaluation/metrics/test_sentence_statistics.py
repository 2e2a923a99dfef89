"""Statistics of sentences: one row per sentence, which can be selected."""

import numpy as np

from dragoman.evaluation.significance import corpus_statistics


def test_some_sentences_are_selected() -> None:
    hypotheses, references = ["a b", "c d", "e f"], ["a b", "c x", "y f"]
    for whole, part in zip(
        corpus_statistics(hypotheses, references), corpus_statistics(hypotheses[1:], references[1:]), strict=True
    ):
        assert len(whole) == 3
        assert whole.counts.dtype == np.int64
        np.testing.assert_array_equal(whole.select(np.array([1, 2])).counts, part.counts)
