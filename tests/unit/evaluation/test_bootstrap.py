"""Resampling draws what sacreBLEU draws, in blocks or at once, and however large the counts are."""

import numpy as np
import pytest
from sacrebleu.significance import _bootstrap_resample

from dragoman.config.evaluation import METRICS
from dragoman.evaluation import significance
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.significance import (
    Statistics,
    blocks,
    corpus_statistics,
    resampled_scores,
    signed_metric,
    total_score,
)
from tests.unit.evaluation.sacrebleu_command import spoilt

REFERENCES = [f"The {number}th cat of {number * 7} sat on the mat, and slept." for number in range(37)]


def _scores(statistics: Statistics, resamples: int) -> list[float]:
    return [score.score for score in resampled_scores(statistics, resamples, 12345)]


def _wanted(statistics: Statistics, resamples: int) -> list[float]:
    metric = signed_metric(statistics.metric, statistics.language)
    return [score.score for score in _bootstrap_resample(statistics.counts.tolist(), metric, resamples)[1]]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("cells", [1, 1 << 22])
def test_resampled_scores_are_those_of_sacrebleu(metric: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "_CELLS", cells)
    (statistics,) = corpus_statistics(spoilt(REFERENCES), REFERENCES, metrics=[metric])
    found = _scores(statistics, 75)
    assert found == _wanted(statistics, 75)
    assert len(set(found)) > 10


def test_counts_too_large_for_single_precision_are_added_up_as_sacrebleu_does() -> None:
    (statistics,) = corpus_statistics(spoilt(REFERENCES), REFERENCES, metrics=["chrf"])
    large = Statistics("chrf", "", statistics.counts * 1_234_567)
    assert _scores(large, 20) == _wanted(large, 20)


def test_resamples_of_which_some_are_worth_nothing_have_an_interval_all_the_same() -> None:
    hypotheses = [REFERENCES[0], *("nothing alike",) * 5]
    (score,) = corpus_scores(hypotheses, REFERENCES[:6], metrics=["bleu"], resamples=60)
    (statistics,) = corpus_statistics(hypotheses, REFERENCES[:6], metrics=["bleu"])
    found = _scores(statistics, 60)
    assert 0 in found
    assert max(found) > 0
    assert {type(each) for each in found} == {float}
    assert score.interval is not None
    assert score.interval.half_width > 0


def test_the_score_of_all() -> None:
    statistics = Statistics("ter", "", np.array([[1, 4], [2, 6]]))
    assert total_score(statistics) == 30


def test_blocks() -> None:
    assert list(blocks(70, 1 << 22)) == [32, 32, 6]
    assert list(blocks(70, 3)) == [70]
