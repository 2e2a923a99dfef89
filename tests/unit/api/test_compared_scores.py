"""From an evaluation to what a report shows."""

import pytest

from dragoman.api.compared_scores import by_length, of_member, of_system
from dragoman.evaluation.metrics import Interval, Score
from dragoman.evaluation.report import LengthScores, Member, PairedResult, Speed, Spread, SystemScores


def member(value: float, *, versus: tuple[float, float] | None = None, lengths: float | None = None) -> Member:
    paired = () if versus is None else (PairedResult("bleu", "bootstrap", *versus, "signed"),)
    bins = () if lengths is None else (LengthScores(1, 9, 5, (Score("bleu", lengths, "", Interval(lengths, 2.0)),)),)
    return Member(
        "m",
        "digest",
        (Score("bleu", value, "nrefs:1", Interval(value, 1.5)),),
        ("a",),
        by_length=bins,
        speed=Speed(10, 100, 2.0, 3.0, 1 << 20, "torch"),
        against_baseline=paired,
    )


def system(*members: Member, p_values: dict[str, float] | None = None) -> SystemScores:
    mean = sum(each.scores[0].value for each in members) / len(members)
    return SystemScores("s", members, (Spread("bleu", mean, 0.5, 0.8, len(members)),), p_values or {})


def test_a_single_member_has_its_interval_and_its_test() -> None:
    (score,) = of_system(system(member(30.0, versus=(2.0, 0.01))), None)
    assert (score.metric, score.estimate.value, score.estimate.half_width) == ("bleu", 30.0, 1.5)
    assert score.versus is not None
    assert (score.versus.difference, score.versus.p_value) == (2.0, 0.01)
    assert score.versus.is_significant
    assert score.versus.test == "paired bootstrap"
    assert score.versus.signature == "signed"


def test_several_seeds_have_the_interval_of_their_mean_and_welchs_test() -> None:
    base = system(member(30.0), member(31.0))
    (score,) = of_system(system(member(33.0), member(34.0), p_values={"bleu": 0.02}), base)
    assert (score.estimate.value, score.estimate.half_width) == (33.5, 0.8)
    assert score.versus is not None
    assert (score.versus.difference, score.versus.p_value) == (3.0, 0.02)
    assert "Welch" in score.versus.test


def test_several_seeds_against_one_count_by_the_weakest() -> None:
    both = system(member(33.0, versus=(3.0, 0.001)), member(31.0, versus=(1.0, 0.04)))
    (score,) = of_system(both, system(member(30.0)))
    assert score.versus is not None
    assert (score.versus.difference, score.versus.p_value) == (2.0, 0.04)


def test_one_against_several_seeds_says_that_it_is_the_weakest() -> None:
    (score,) = of_system(system(member(31.0, versus=(1.0, 0.04))), system(member(29.0), member(31.0)))
    assert score.versus is not None
    assert score.versus.test == "paired bootstrap, the weakest against 2 members of the baseline"


def test_seeds_without_an_answer_of_welchs_test_are_not_tested() -> None:
    both = system(member(33.0, versus=(3.0, 0.001)), member(33.0, versus=(3.0, 0.001)))
    (score,) = of_system(both, system(member(30.0), member(30.0)))
    assert score.versus is None


def test_seeds_on_both_sides_of_the_baseline_show_nothing() -> None:
    both = system(member(33.0, versus=(3.0, 0.001)), member(27.0, versus=(-3.0, 0.001)))
    (score,) = of_system(both, system(member(30.0)))
    assert score.versus is not None
    assert not score.versus.is_significant


def test_lengths_are_means_over_members() -> None:
    (point,) = by_length([member(30.0, lengths=20.0), member(31.0, lengths=24.0)])
    assert point.label == "1–9"
    assert (point.scores["bleu"].value, point.scores["bleu"].half_width) == (22.0, 2.0)


def test_speed_is_by_the_second() -> None:
    speed = of_member(member(30.0))["speed"]
    assert speed.sentences_per_second == pytest.approx(5.0)
    assert speed.words_per_second == pytest.approx(50.0)
    assert of_member(None) == {}
