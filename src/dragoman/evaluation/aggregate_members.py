"""Combine the results of a system's members (the same model trained with different seeds) into one result."""

from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluation.results import Interval, LengthBin, MemberResult, Score, SignificanceTest, SystemResult
from dragoman.evaluation.significance.student_t import mean_interval, standard_deviation, welch_test

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
