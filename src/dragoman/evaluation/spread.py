"""Systems trained several times: mean, spread, and whether two of them differ by more than their seeds. [clark2011].

Student's t distribution is computed here, through the regularized incomplete beta function, to some twelve digits.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dragoman.errors import DataError
from dragoman.evaluation.report import Spread

__all__ = ["spread", "t_quantile", "two_sided_p", "welch"]

_LEVEL = 0.95
_LEAST = 1e-300  # stands for 0 in a denominator of the continued fraction
_PRECISE = 1e-15
_MOST_TERMS = 10_000


def spread(metric: str, values: Sequence[float]) -> Spread:
    """Mean, standard deviation (of n - 1) and half the 95 % interval of the mean; one value has no spread."""
    if not values:
        raise DataError("values must be at least one, got none; give the score of every member")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Spread(metric, mean, None, None, 1)
    deviation = statistics.stdev(values)
    half_width = t_quantile((1 + _LEVEL) / 2, len(values) - 1) * deviation / math.sqrt(len(values))
    return Spread(metric, mean, deviation, half_width, len(values))


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The p-value of Welch's test, two-sided: how likely means as far apart are if both are one, spreads aside.

    None where there are not two values on both sides, or where no value differs from any other of its side: then
    nothing is known of chance.
    """
    if len(first) < 2 or len(second) < 2:
        return None
    shares = [statistics.variance(side) / len(side) for side in (first, second)]
    if not sum(shares):
        return None
    t = (statistics.fmean(first) - statistics.fmean(second)) / math.sqrt(sum(shares))
    squares = sum(share**2 / (len(side) - 1) for share, side in zip(shares, (first, second), strict=True))
    return two_sided_p(t, sum(shares) ** 2 / squares)


def two_sided_p(t: float, freedom: float) -> float:
    """How likely Student's t is as far from 0 as this, or farther; degrees of freedom need not be whole."""
    if math.isinf(t):
        return 0.0
    if t * t < freedom:  # what is left to 1 has more digits where t is small
        return 1 - _incomplete_beta(0.5, freedom / 2, t * t / (freedom + t * t))
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(probability: float, freedom: float) -> float:
    """Below which Student's t lies with this probability, from above a half to below one."""
    if not 0.5 <= probability < 1:
        raise ValueError(probability)
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > 2 * (1 - probability):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if two_sided_p(middle, freedom) > 2 * (1 - probability) else (low, middle)
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly only below
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction, from the front (Lentz's method)."""
    above, below = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _LEAST)
    value = below
    for term in range(1, _MOST_TERMS):
        twice = a + 2 * term
        for factor in (
            term * (b - term) * x / ((twice - 1) * twice),
            -(a + term) * (a + b + term) * x / (twice * (twice + 1)),
        ):
            above = (1 + factor / above) or _LEAST
            below = 1 / ((1 + factor * below) or _LEAST)
            value *= above * below
        if abs(above * below - 1) < _PRECISE:
            break
    return value
