"""Scores of single sentences are sacreBLEU's."""

import pytest
from sacrebleu import sentence_chrf

from dragoman.errors import DataError
from dragoman.evaluation.metrics.corpus_scores import sentence_scores


def test_they_are_those_of_sacrebleu() -> None:
    hypotheses = ["Ein Mann fährt Rad.", "", "委员会同意。"]
    references = ["Ein Mann fährt ein Rad.", "Hallo.", "委员会表示同意。"]
    expected = [
        sentence_chrf(one, [other], word_order=2).score for one, other in zip(hypotheses, references, strict=True)
    ]
    assert sentence_scores(hypotheses, references) == expected
    assert sentence_scores(["Hallo."], ["Hallo."]) == [100.0]


def test_counts_must_be_equal() -> None:
    with pytest.raises(DataError, match="a reference for each"):
        sentence_scores(["a"], [])
