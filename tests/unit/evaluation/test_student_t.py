"""Student's t against its tables, and what is made of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.evaluation.aggregate_members import (
    mean_interval,
    standard_deviation,
    t_quantile,
    two_sided_p,
    welch_error,
    welch_p_value,
    welch_test,
)


@pytest.mark.parametrize(
    ("probability", "freedom", "quantile"),
    [
        (0.975, 1, 12.706204736),
        (0.975, 2, 4.302652730),
        (0.975, 3, 3.182446305),
        (0.975, 4, 2.776445105),
        (0.975, 9, 2.262157163),
        (0.975, 29, 2.045229642),
        (0.975, 120, 1.979930405),
        (0.995, 2, 9.924843201),
        (0.95, 10, 1.812461123),
        (0.9995, 5, 6.868826626),
        (0.975, 1000, 1.962339081),
    ],
)
def test_quantiles_of_the_tables(probability: float, freedom: float, quantile: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(quantile, abs=2e-9)
    assert two_sided_p(quantile, freedom) == pytest.approx(2 * (1 - probability), rel=1e-6)


@given(st.floats(-1e6, 1e6))
def test_closed_forms(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(abs(t)), abs=1e-12)
    assert two_sided_p(t, 2) == pytest.approx(1 - abs(t) / math.sqrt(2 + t * t), abs=1e-12)


def test_the_ends() -> None:
    assert two_sided_p(0, 5) == 1
    assert two_sided_p(math.inf, 5) == 0
    assert t_quantile(0.5, 3) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match=r"0\.4"):
        t_quantile(0.4, 3)


def test_three_seeds() -> None:
    found = mean_interval([35.0, 36.0, 37.0])
    assert (found.mean, standard_deviation([35.0, 36.0, 37.0])) == (36, 1)
    assert found.half_width == pytest.approx(4.302652730 / math.sqrt(3))


@pytest.mark.parametrize("values", [[], [50.5]])
def test_an_interval_needs_two_values(values: list[float]) -> None:
    with pytest.raises(DataError, match="values must be at least two"):
        mean_interval(values)


def test_welchs_test_has_the_difference_of_the_means() -> None:
    found = welch_test("bleu", [30.0, 31.0], [33.0, 34.5])
    assert found is not None
    assert (found.test, found.difference) == ("welch", 3.25)
    assert found.p_value == welch_p_value([30.0, 31.0], [33.0, 34.5])
    assert welch_test("bleu", [30.0], [33.0, 34.5]) is None


def test_welch_by_hand() -> None:
    first, second = [1.0, 2.0, 3.0], [3.0, 4.0, 5.0, 8.0]  # means 2 and 5, variances 1 and 14/3
    shares = 1 / 3, 14 / 12
    freedom = sum(shares) ** 2 / (shares[0] ** 2 / 2 + shares[1] ** 2 / 3)
    assert welch_p_value(first, second) == pytest.approx(two_sided_p(3 / math.sqrt(sum(shares)), freedom))
    assert welch_p_value(first, second) == welch_p_value(second, first)


def test_welch_on_students_own_data() -> None:
    # Hours of sleep gained by two drugs; R's t.test gives t = -1.8608, 17.776 degrees of freedom, p = 0.07939.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    assert welch_p_value(first, second) == pytest.approx(0.07939, abs=5e-6)
    assert two_sided_p(-1.8608, 17.776) == pytest.approx(0.07939, abs=1e-5)


def test_the_standard_error_of_one_two_and_three_samples() -> None:
    assert welch_error([[1.0, 2.0, 3.0]]) == pytest.approx((1 / math.sqrt(3), 2))
    unequal = 1.5**2 / (1 / 9 / 2 + (14 / 12) ** 2 / 3)
    assert welch_error([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0, 8.0]]) == pytest.approx((math.sqrt(1.5), unequal))
    assert welch_error([[1.0, 2.0, 3.0]] * 3) == pytest.approx((1.0, 6))  # equal variances
    assert welch_error([[1.0, 1.0, 1.0], [2.0, 2.0]]) == (0.0, 3)


def test_nothing_is_known_of_chance_without_spread() -> None:
    assert welch_p_value([1.0], [2.0, 3.0]) is None
    assert welch_p_value([1.0, 1.0], [2.0, 2.0]) is None
    assert welch_p_value([1.0, 1.0], [1.0, 1.0]) is None


def test_equal_means_do_not_differ() -> None:
    assert welch_p_value([1.0, 2.0], [1.5, 1.5]) == 1


@pytest.mark.parametrize("freedom", [1, 2.5, 30])
def test_a_small_t_keeps_its_digits(freedom: float) -> None:
    density = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    assert 1 - two_sided_p(1e-6, freedom) == pytest.approx(2e-6 * density, rel=1e-6)
