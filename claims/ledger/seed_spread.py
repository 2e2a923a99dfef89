"""Spread of scores over seeds, pooled over models of the same kind where it is similar. Paper: [bartlett1937]."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dragoman.evaluation.aggregate_members import welch_error

Sample = tuple[float, ...]
"""Scores of one model by seed; at least two."""

_UNLIKE = 0.05  # error rate of the test for equal spreads


@dataclass(frozen=True)
class Spread:
    """A variance of scores over seeds, and its degrees of freedom."""

    variance: float
    freedom: int


def pooled_spread(samples: Sequence[Sample]) -> Spread | None:
    """Pool the variance of the first sample with all similar ones; None if it is not similar to them.

    Samples with the largest variance are left out until Bartlett's test finds no difference.
    """
    alike = sorted(samples, key=statistics.variance)
    while len(alike) > 1 and unlike_p_value(alike) < _UNLIKE:
        alike.pop()
    if len(alike) < 2 or samples[0] not in alike:
        return None
    freedom = sum(len(sample) - 1 for sample in alike)
    return Spread(sum(statistics.variance(sample) * (len(sample) - 1) for sample in alike) / freedom, freedom)


def unlike_p_value(samples: Sequence[Sample]) -> float:
    """Return the p-value of Bartlett's test for equal variances."""
    freedoms = [len(sample) - 1 for sample in samples]
    variances = [statistics.variance(sample) for sample in samples]
    if not min(variances):
        return float(not max(variances))
    total, number = sum(freedoms), len(samples) - 1
    pooled = sum(f * v for f, v in zip(freedoms, variances, strict=True)) / total
    logs = sum(f * math.log(v) for f, v in zip(freedoms, variances, strict=True))
    correction = 1 + (sum(1 / f for f in freedoms) - 1 / total) / (3 * number)
    return _chi_square_tail((total * math.log(pooled) - logs) / correction, number)


def _chi_square_tail(value: float, freedom: int) -> float:
    """Return the probability of a larger value, by the approximation of Wilson and Hilferty."""
    width = 2 / (9 * freedom)
    return 1 - NormalDist().cdf(((max(value, 0.0) / freedom) ** (1 / 3) - (1 - width)) / math.sqrt(width))


def seed_error(samples: Sequence[tuple[Sample, Spread | None]]) -> tuple[float, float]:
    """Return the standard error of a sum of means, and its degrees of freedom.

    Samples with a pooled spread share one estimate of it; the others have their own.
    """
    parts: list[tuple[float, float]] = []  # variance of a mean, degrees of freedom
    pooled: dict[Spread, float] = {}
    for sample, spread in samples:
        if spread is None:
            error, freedom = welch_error([sample])
            parts.append((error**2, freedom))
        else:
            pooled[spread] = pooled.get(spread, 0.0) + 1 / len(sample)
    parts += [(spread.variance * share, spread.freedom) for spread, share in pooled.items()]
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / freedom for variance, freedom in parts)
    return math.sqrt(total), total**2 / squares if squares else sum(freedom for _, freedom in parts)
