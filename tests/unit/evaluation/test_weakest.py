"""Several tests as one."""

import pytest

from dragoman.evaluation.report import PairedResult
from dragoman.evaluation.weakest import weakest_result


def weakest(*found: tuple[float, float]) -> tuple[float, float]:
    result = weakest_result([PairedResult("bleu", "bootstrap", *each, "signed") for each in found])
    return result.difference, result.p_value


def test_the_largest_p_value_counts_with_the_mean_difference() -> None:
    assert weakest((2.0, 0.01)) == (2.0, 0.01)
    assert weakest((3.0, 0.001), (1.0, 0.04)) == (2.0, 0.04)
    assert weakest((-3.0, 0.001), (-1.0, 0.04)) == (-2.0, 0.04)


@pytest.mark.parametrize("others", [(-3.0, 0.001), (0.0, 1.0)])
def test_both_sides_show_nothing(others: tuple[float, float]) -> None:
    assert weakest((2.0, 0.001), others)[1] == 1.0
