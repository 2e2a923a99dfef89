"""Combining members to a system: scores, intervals, tests and lengths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.evaluation.aggregate_members import combine_members, describe_test, weakest_test
from dragoman.evaluation.results import Interval, LengthBin, MemberResult, Score, SignificanceTest, SystemResult


def member(value: float, *, test: tuple[float, float] | None = None, length: float | None = None) -> MemberResult:
    bins = () if length is None else (LengthBin(1, 9, 5, (Score("bleu", length, "", Interval(length, 2.0)),)),)
    return MemberResult(
        "m",
        "path",
        "digest",
        (Score("bleu", value, "nrefs:1", Interval(value, 1.5)),),
        ("a",),
        tests=() if test is None else (SignificanceTest("bleu", "bootstrap", *test, "signed"),),
        by_length=bins,
    )


def system(*members: MemberResult, baseline: SystemResult | None = None) -> SystemResult:
    return combine_members("s", members, None if baseline is None else baseline.members)


def weakest(*found: tuple[float, float]) -> tuple[float, float]:
    result = weakest_test([SignificanceTest("bleu", "bootstrap", *each, "signed") for each in found])
    return result.difference, result.p_value


def test_the_weakest_test_has_the_largest_p_value_and_the_mean_difference() -> None:
    assert weakest((2.0, 0.01)) == (2.0, 0.01)
    assert weakest((3.0, 0.001), (1.0, 0.04)) == (2.0, 0.04)
    assert weakest((-3.0, 0.001), (-1.0, 0.04)) == (-2.0, 0.04)


@pytest.mark.parametrize("others", [(-3.0, 0.001), (0.0, 1.0)])
def test_differences_of_both_signs_are_not_significant(others: tuple[float, float]) -> None:
    assert weakest((2.0, 0.001), others)[1] == 1.0


def test_one_member_keeps_its_interval_and_its_test() -> None:
    one = system(member(30.0, test=(2.0, 0.01)))
    assert one.scores == (Score("bleu", 30.0, "nrefs:1", Interval(30.0, 1.5)),)
    (test,) = one.tests
    assert (test.difference, test.p_value, test.is_significant, test.signature) == (2.0, 0.01, True, "signed")
    assert describe_test(test, one, None) == "paired bootstrap"
    assert one.deviations == {}


def test_several_seeds_have_the_interval_of_their_mean_and_welchs_test() -> None:
    base = system(member(30.0), member(31.0))
    both = system(member(33.0), member(34.5), baseline=base)
    (score,) = both.scores
    assert score.value == 33.75
    assert score.interval is not None
    assert score.interval.mean == 33.75
    assert score.interval.half_width == pytest.approx(12.706204736 * 0.75)
    assert both.deviations == {"bleu": pytest.approx(1.5 / 2**0.5)}
    (test,) = both.tests
    assert (test.test, test.difference) == ("welch", 3.25)
    assert describe_test(test, both, base) == "Welch's t-test over seeds"


def test_several_seeds_against_one_have_the_weakest_test() -> None:
    base = system(member(30.0))
    both = system(member(33.0, test=(3.0, 0.001)), member(31.0, test=(1.0, 0.04)), baseline=base)
    (test,) = both.tests
    assert (test.difference, test.p_value) == (2.0, 0.04)
    assert describe_test(test, both, base) == "paired bootstrap, the weakest of 2 members"


def test_one_against_several_seeds_is_described_as_the_weakest() -> None:
    base = system(member(29.0), member(31.0))
    one = system(member(31.0, test=(1.0, 0.04)), baseline=base)
    assert describe_test(one.tests[0], one, base) == "paired bootstrap, the weakest against 2 members of the baseline"


def test_without_variance_there_is_no_test_over_seeds() -> None:
    base = system(member(30.0), member(30.0))
    both = system(member(33.0, test=(3.0, 0.001)), member(33.0, test=(3.0, 0.001)), baseline=base)
    assert both.tests == ()


def test_lengths_of_several_seeds_have_mean_scores_and_mean_intervals() -> None:
    both = system(member(30.0, length=20.0), member(31.0, length=24.0))
    ((score,),) = (row.scores for row in both.by_length)
    assert (score.value, score.interval) == (22.0, Interval(22.0, 2.0))
    single = replace(both.members[0].by_length[0], scores=(Score("bleu", 20.0),))
    without = replace(both.members[0], by_length=(single,))
    ((score,),) = (row.scores for row in system(without, both.members[1]).by_length)
    assert score.interval is None
