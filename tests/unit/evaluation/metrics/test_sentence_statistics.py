"""Counts are those that sacreBLEU makes of every sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.metrics.sentence_statistics import corpus_statistics, signed_metric

TEXT = st.text("abC ,.!-'3ß猫。 \u3000\u0301", max_size=20)


@pytest.mark.parametrize("language", ["de", "zh"])
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_counts_are_those_of_sacrebleu(language: str, pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    for found in corpus_statistics(hypotheses, references, language=language):
        wanted = signed_metric(found.metric, language)._extract_corpus_statistics(hypotheses, [references])
        np.testing.assert_array_equal(found.counts, wanted)
        assert found.counts.dtype == np.int64


def test_some_sentences_are_selected() -> None:
    hypotheses, references = ["a b", "c d", "e f"], ["a b", "c x", "y f"]
    for whole, part in zip(
        corpus_statistics(hypotheses, references), corpus_statistics(hypotheses[1:], references[1:]), strict=True
    ):
        assert len(whole) == 3
        np.testing.assert_array_equal(whole.select(np.array([1, 2])).counts, part.counts)
