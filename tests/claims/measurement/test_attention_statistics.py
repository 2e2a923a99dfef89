"""Statistics of attention weights."""

from __future__ import annotations

import numpy as np
import pytest

from claims.measurement.attention_statistics import COVERAGE, AttentionStatistics, coverage_statistics

# One layer, two heads, two target words, three source positions. Mean coverage: 1.5 + 0.125, 0.375, 0.
WEIGHTS = np.array([[[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.5, 0.5, 0.0], [0.75, 0.25, 0.0]]]])


def test_coverage_is_the_sum_over_target_words_of_the_mean_of_all_heads():
    found = dict(zip(COVERAGE, coverage_statistics(WEIGHTS), strict=True))
    assert found["positions"] == 3
    assert found["deviation"] == pytest.approx(0.625**2 + 0.625**2 + 1)
    assert found["uncovered"] == 2
    assert found["overcovered"] == 1


def test_even_attention_has_no_deviation():
    assert coverage_statistics(np.eye(4)[None, None]).tolist() == [4, 0, 0, 0]


def test_a_record_has_one_value_per_sentence_and_column():
    statistics = AttentionStatistics()
    statistics.add([WEIGHTS, WEIGHTS])
    assert [len(column) for column in statistics.to_json()["coverage"]] == [2] * len(COVERAGE)
