"""Combine the results of a system's members (the same model with different seeds): Student's t. Paper: [clark2011].

The t distribution is computed with the regularized incomplete beta function, to about twelve digits.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from dragoman.errors import DataError
from dragoman.evaluation.results import Interval, LengthBin, MemberResult, Score, SignificanceTest, SystemResult

_LEVEL = 0.95
_TINY = 1e-300  # replaces 0 in a denominator of the continued fraction
_TOLERANCE = 1e-15
_MAX_TERMS = 10_000


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of at least two values and its 95 % confidence interval."""
    if len(values) < 2:
        raise DataError(f"values must be at least two, got {len(values)}; give the score of every member")
    half_width = t_quantile((1 + _LEVEL) / 2, len(values) - 1) * standard_deviation(values) / math.sqrt(len(values))
    return Interval(statistics.fmean(values), half_width)


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation, with n - 1 in the denominator."""
    return statistics.stdev(values)


def welch_test(metric: str, baseline: Sequence[float], system: Sequence[float]) -> SignificanceTest | None:
    """Compare the means of two systems over their members; None if the p-value is undefined."""
    p_value = welch_p_value(baseline, system)
    if p_value is None:
        return None
    difference = statistics.fmean(system) - statistics.fmean(baseline)
    return SignificanceTest(metric, "welch", difference, p_value)


def welch_p_value(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Welch's test; None with fewer than two values, or no variance."""
    if len(first) < 2 or len(second) < 2:
        return None
    error, freedom = welch_error((first, second))
    return two_sided_p((statistics.fmean(first) - statistics.fmean(second)) / error, freedom) if error else None


def welch_error(samples: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom; n − samples without variance."""
    shares = [statistics.variance(sample) / len(sample) for sample in samples]
    squares = sum(share**2 / (len(sample) - 1) for share, sample in zip(shares, samples, strict=True))
    if squares:
        freedom = sum(shares) ** 2 / squares
    else:
        freedom = sum(len(sample) - 1 for sample in samples)
    return math.sqrt(sum(shares)), freedom


def two_sided_p(t: float, freedom: float) -> float:
    """Return the two-sided p-value of Student's t; degrees of freedom may be fractional."""
    if math.isinf(t):
        return 0.0
    if t * t < freedom:  # more precise for small t
        return 1 - _incomplete_beta(0.5, freedom / 2, t * t / (freedom + t * t))
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t for a probability from 0.5 to below 1."""
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
    """Compute the regularized incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below this
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate its continued fraction with Lentz's method."""
    above, below = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    value = below
    for term in range(1, _MAX_TERMS):
        twice = a + 2 * term
        for factor in (
            term * (b - term) * x / ((twice - 1) * twice),
            -(a + term) * (a + b + term) * x / (twice * (twice + 1)),
        ):
            above = (1 + factor / above) or _TINY
            below = 1 / ((1 + factor * below) or _TINY)
            value *= above * below
        if abs(above * below - 1) < _TOLERANCE:
            break
    return value


_TEST_NAMES = {
    "bootstrap": "paired bootstrap",
    "randomization": "paired approximate randomization",
    "welch": "Welch's t-test over seeds",
}


def combine_members(
    name: str, members: Sequence[MemberResult], baseline: Sequence[MemberResult] | None = None
) -> SystemResult:
    """Combine members: means with Welch's test if the baseline has several too, else the weakest test."""
    members = tuple(members)
    by_length = combine_lengths(members)
    if len(members) == 1:
        return SystemResult(name, members, members[0].scores, {}, members[0].tests, by_length)
    values = _values(members)
    signatures = {score.metric: score.signature for score in members[0].scores}
    scores = tuple(
        Score(metric, interval.mean, signatures.get(metric, ""), interval)
        for metric, found in values.items()
        for interval in (mean_interval(found),)
    )
    deviations = {metric: standard_deviation(found) for metric, found in values.items()}
    return SystemResult(name, members, scores, deviations, _tests(members, baseline), by_length)


def _values(members: Sequence[MemberResult]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for member in members:
        for score in member.scores:
            values.setdefault(score.metric, []).append(score.value)
    return values


def _tests(members: Sequence[MemberResult], baseline: Sequence[MemberResult] | None) -> tuple[SignificanceTest, ...]:
    if baseline is not None and len(baseline) > 1:
        ours, theirs = _values(members), _values(baseline)
        return tuple(
            test for metric in theirs if metric in ours and (test := welch_test(metric, theirs[metric], ours[metric]))
        )
    by_metric: dict[str, list[SignificanceTest]] = {}
    for member in members:
        for test in member.tests:
            by_metric.setdefault(test.metric, []).append(test)
    return tuple(weakest_test(tests) for tests in by_metric.values())


def weakest_test(tests: Sequence[SignificanceTest]) -> SignificanceTest:
    """Combine tests of one metric: mean difference and largest p-value, 1 if differences have different signs."""
    differences = [test.difference for test in tests]
    weakest = max(tests, key=lambda test: test.p_value)
    if len(tests) == 1:
        return weakest
    has_one_sign = min(differences) > 0 or max(differences) < 0
    mean = sum(differences) / len(differences)
    return replace(weakest, difference=mean, p_value=weakest.p_value if has_one_sign else 1.0)


def combine_lengths(members: Sequence[MemberResult]) -> tuple[LengthBin, ...]:
    """Average the scores of each length bin over members, and their intervals if all members have one."""
    if len(members) == 1:
        return members[0].by_length
    bins = []
    for group in zip(*(member.by_length for member in members), strict=True):
        first = group[0]
        scores = tuple(
            _mean([score for each in group for score in each.scores if score.metric == metric])
            for metric in dict.fromkeys(score.metric for score in first.scores)
        )
        bins.append(replace(first, scores=scores))
    return tuple(bins)


def _mean(scores: Sequence[Score]) -> Score:
    value = sum(score.value for score in scores) / len(scores)
    halves = [score.interval.half_width for score in scores if score.interval is not None]
    interval = Interval(value, sum(halves) / len(halves)) if len(halves) == len(scores) else None
    return replace(scores[0], value=value, interval=interval)


def describe_test(
    test: SignificanceTest, system: SystemResult | None = None, baseline: SystemResult | None = None
) -> str:
    """Describe the test of a member, or of a system with its members and those of the baseline."""
    name = _TEST_NAMES[test.test]
    if test.test == "welch" or system is None:
        return name
    if len(system.members) > 1:
        return f"{name}, the weakest of {len(system.members)} members"
    if baseline is not None and len(baseline.members) > 1:
        return f"{name}, the weakest against {len(baseline.members)} members of the baseline"
    return name
