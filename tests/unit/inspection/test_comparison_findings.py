"""The verdict, and settings that differ."""

from dataclasses import replace

import pytest

from dragoman.inspection.comparison import Comparison, Estimate, Measured, Versus
from dragoman.inspection.comparison_findings import metric_name, p_value, sets_better, setting_rows, verdict
from tests.unit.inspection.comparisons import comparison


def of(**results: tuple[float, float | None]) -> Comparison:
    """Systems by name: BLEU, and the p-value of its difference from the first."""
    whole = comparison(*results)
    base = next(iter(results.values()))[0]
    systems = tuple(
        replace(
            system,
            scores=(
                Measured("bleu", Estimate(value, 1.0), "", None if p is None else Versus(value - base, p, "test")),
            ),
        )
        for system, (value, p) in zip(whole.systems, results.values(), strict=True)
    )
    return replace(whole, systems=systems)


def against(*results: tuple[str, float, float]) -> Comparison:
    """Two systems: for each metric the difference of the second, and its p-value."""
    whole = comparison("base", "new")
    scores = [
        tuple(Measured(metric, Estimate(40.0 + side * change, None), "") for metric, change, _ in results)
        for side in (0, 1)
    ]
    tested = tuple(
        replace(score, versus=Versus(change, p, "test"))
        for score, (_, change, p) in zip(scores[1], results, strict=True)
    )
    first, second = whole.systems
    return replace(whole, systems=(replace(first, scores=scores[0]), replace(second, scores=tested)))


def test_a_significant_winner_is_better() -> None:
    found = verdict(of(rnn=(37.0, None), transformer=(39.5, 0.001)))
    assert found.level == "go"
    assert found.text == (
        "“transformer” is better than the baseline “rnn”: BLEU 39.50 ± 1.00 against 37.00 ± 1.00, p = 0.001 (test)."
    )


def test_a_winner_that_is_not_significant_is_not_shown_to_be_better() -> None:
    found = verdict(of(rnn=(37.0, None), transformer=(37.2, 0.3)))
    assert found.level == "look"
    assert "not shown to be better" in found.text


def test_the_baseline_may_win() -> None:
    assert "the baseline, has the best BLEU" in verdict(of(rnn=(37.0, None), other=(35.0, 0.001))).text
    doubtful = verdict(of(rnn=(37.0, None), other=(36.9, 0.4)))
    assert doubtful.level == "look"
    assert "is not shown" in doubtful.text


def test_the_rest_stand_to_the_baseline() -> None:
    found = verdict(of(base=(37.0, None), best=(40.0, 0.001), low=(30.0, 0.002), same=(37.1, 0.5), high=(38.0, 0.01)))
    assert "Of 3 other systems" in found.detail
    assert "better: “high”" in found.detail
    assert "worse: “low”" in found.detail
    assert "as far as the test can tell: “same”" in found.detail


def test_a_test_that_says_the_reverse_of_the_figures_shows_nothing() -> None:
    whole = of(base=(37.0, None), new=(38.0, 0.001))
    first, second = whole.systems
    score = replace(second.scores[0], versus=Versus(-2.0, 0.001, "test"))
    found = verdict(replace(whole, systems=(first, replace(second, scores=(score,)))))
    assert (found.level, "not shown to be better" in found.text) == ("look", True)
    score = replace(second.scores[0], estimate=Estimate(36.0), versus=Versus(2.0, 0.001, "test"))
    found = verdict(replace(whole, systems=(first, replace(second, scores=(score,)))))
    assert (found.level, "is not shown" in found.text) == ("look", True)


def test_metrics_that_disagree_are_no_clear_win() -> None:
    found = verdict(against(("bleu", 1.0, 0.01), ("chrf++", -5.0, 0.0001), ("ter", 10.0, 0.0001)))
    assert found.level == "look"
    assert found.text.startswith("“new” is better than the baseline “base” by BLEU, but worse by chrF++ and TER:")
    assert "chrF++ says the opposite (p < 0.001)" in found.detail
    found = verdict(against(("bleu", -1.0, 0.01), ("chrf++", 5.0, 0.0001)))
    assert found.level == "look"
    assert "“base”, the baseline, has the best BLEU, but by chrF++ “new” is better:" in found.text


def test_other_scores_agree_or_not() -> None:
    assert "TER says that it is better (p < 0.001)" in verdict(comparison("rnn", "transformer")).detail
    found = verdict(against(("bleu", 1.0, 0.01), ("ter", -1.0, 0.02), ("chrf++", -0.1, 0.4), ("comet", 0.0, 1.0)))
    assert found.level == "go"
    assert found.detail == (
        "Of “new”, TER says the same (p = 0.020), chrF++ shows no difference (p = 0.400), "
        "COMET shows no difference (p = 1.000)."
    )


def test_equal_figures_are_no_difference() -> None:
    found = verdict(of(a=(86.9, None), b=(86.9, 1.0)))
    assert found.level == "look"
    assert found.text == "There is no difference in BLEU between the baseline “a” and “b”: 86.90."
    found = verdict(of(base=(80.0, None), b=(81.0, 0.2), c=(81.0, 0.3)))
    assert found.text.startswith("“b” and “c” have the best BLEU, but are not shown to be better than the baseline")


def test_one_system_alone_and_none_scored() -> None:
    assert verdict(of(rnn=(37.0, None))).text == "“rnn” reaches BLEU 37.00 ± 1.00."
    unscored = comparison("a")
    assert "no test set" in verdict(replace(unscored, systems=(replace(unscored.systems[0], scores=()),))).text


def test_less_ter_is_better() -> None:
    assert sets_better("ter", -1.0)
    assert sets_better("bleu", 1.0)
    assert not sets_better("bleu", 0.0)
    assert metric_name("chrf++") == "chrF++"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0002, "< 0.001"), (0.0497, "= 0.0497"), (0.0503, "= 0.0503"), (0.05, "= 0.050"), (0.049996, "= 0.049996")],
)
def test_a_p_value_reads_on_its_side_of_the_limit(value: float, words: str) -> None:
    assert p_value(value) == f"p {words}"


def test_settings_are_compared_over_all_members() -> None:
    rows = {row.name: row for row in setting_rows(comparison("rnn", "transformer", members=2))}
    assert rows["training.seed"].values == ("1, 2", "2, 3")
    assert rows["training.seed"].differs
    assert not rows["data.source"].differs
