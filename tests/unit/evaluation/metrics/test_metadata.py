"""Formatting of scores and p-values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.results import (
    SIGNIFICANCE_LEVEL,
    format_difference,
    format_metric_value,
    format_p_value,
    is_improvement,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0496, "p = 0.0496"),
        (0.04999, "p = 0.04999"),
        (0.05, "p = 0.050"),
        (0.0503, "p = 0.0503"),
        (0.2, "p = 0.200"),
        (0.0123, "p = 0.012"),
        (0.0004, "p < 0.001"),
        (1.0, "p = 1.000"),
    ],
)
def test_a_p_value_near_the_level_has_more_decimals(value: float, text: str) -> None:
    assert format_p_value(value) == text
    assert format_p_value(value, "") == text.replace(" ", "")


@given(st.floats(0.001, 1))
def test_a_formatted_p_value_is_on_the_same_side_of_the_level(value: float) -> None:
    shown = float(format_p_value(value).split()[-1])
    assert (shown < SIGNIFICANCE_LEVEL) == (value < SIGNIFICANCE_LEVEL)


def test_values_have_the_decimals_of_their_metric() -> None:
    assert format_metric_value("bleu", 30.0) == "30.00"
    assert format_metric_value("comet", 0.81234) == "0.8123"
    assert format_difference("bleu", -1.5) == "−1.50"
    assert format_difference("ter", 0.25) == "+0.25"


def test_less_ter_is_an_improvement() -> None:
    assert is_improvement("ter", -1.0)
    assert is_improvement("bleu", 1.0)
    assert not is_improvement("bleu", 0.0)
    assert not is_improvement("ter", 0.0)
