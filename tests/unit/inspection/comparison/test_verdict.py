"""The verdict, and settings that differ."""

import json
from dataclasses import replace

from dragoman.evaluation.results import Interval, Score, SignificanceTest
from dragoman.inspection.comparison.report_types import ComparisonReport
from dragoman.inspection.comparison.verdict import conclude
from tests.unit.inspection.comparisons import comparison, with_systems


def of(**results: tuple[float, float | None]) -> ComparisonReport:
    """Systems by name: BLEU, and the p-value of its difference from the first."""
    whole = comparison(*results)
    base = next(iter(results.values()))[0]
    assert whole.evaluation is not None
    systems = [
        replace(
            system,
            scores=(Score("bleu", value, "", Interval(value, 1.0)),),
            tests=() if p is None else (SignificanceTest("bleu", "bootstrap", value - base, p),),
        )
        for system, (value, p) in zip(whole.evaluation.systems, results.values(), strict=True)
    ]
    return with_systems(whole, *systems)


def against(*results: tuple[str, float, float]) -> ComparisonReport:
    """Two systems: for each metric the difference of the second, and its p-value."""
    whole = comparison("base", "new")
    scores = [tuple(Score(metric, 40.0 + side * change) for metric, change, _ in results) for side in (0, 1)]
    tests = tuple(SignificanceTest(metric, "bootstrap", change, p) for metric, change, p in results)
    assert whole.evaluation is not None
    first, second = whole.evaluation.systems
    return with_systems(whole, replace(first, scores=scores[0]), replace(second, scores=scores[1], tests=tests))


def test_a_significant_winner_is_better() -> None:
    found = conclude(of(rnn=(37.0, None), transformer=(39.5, 0.001)))
    assert found.level == "ok"
    assert found.text == (
        "“transformer” is better than the baseline “rnn”: BLEU 39.50 ± 1.00 against 37.00 ± 1.00, p = 0.001 (paired "
        "bootstrap)."
    )


def test_a_winner_that_is_not_significant_is_not_shown_to_be_better() -> None:
    found = conclude(of(rnn=(37.0, None), transformer=(37.2, 0.3)))
    assert found.level == "warning"
    assert "not significantly better" in found.text


def test_the_baseline_may_win() -> None:
    assert "the baseline, has the best BLEU" in conclude(of(rnn=(37.0, None), other=(35.0, 0.001))).text
    doubtful = conclude(of(rnn=(37.0, None), other=(36.9, 0.4)))
    assert doubtful.level == "warning"
    assert "is not significant" in doubtful.text


def test_a_test_that_says_the_reverse_of_the_figures_shows_nothing() -> None:
    whole = of(base=(37.0, None), new=(38.0, 0.001))
    assert whole.evaluation is not None
    first, second = whole.evaluation.systems
    reverse = SignificanceTest("bleu", "bootstrap", -2.0, 0.001)
    found = conclude(with_systems(whole, first, replace(second, tests=(reverse,))))
    assert (found.level, "not significantly better" in found.text) == ("warning", True)
    lower = replace(second, scores=(Score("bleu", 36.0),), tests=(replace(reverse, difference=2.0),))
    found = conclude(with_systems(whole, first, lower))
    assert (found.level, "is not significant" in found.text) == ("warning", True)


def test_metrics_that_disagree_are_no_clear_win() -> None:
    found = conclude(against(("bleu", 1.0, 0.01), ("chrf++", -5.0, 0.0001), ("ter", 10.0, 0.0001)))
    assert found.level == "warning"
    assert found.text.startswith("“new” is better than the baseline “base”, but by chrF++ and TER “base” is better:")
    found = conclude(against(("bleu", -1.0, 0.01), ("chrf++", 5.0, 0.0001)))
    assert found.level == "warning"
    assert "“base”, the baseline, has the best BLEU, but by chrF++ “new” is better:" in found.text


def test_equal_figures_are_no_difference() -> None:
    found = conclude(of(a=(86.9, None), b=(86.9, 1.0)))
    assert found.level == "warning"
    assert found.text == "There is no difference in BLEU between the baseline “a” and “b”: 86.90."
    found = conclude(of(base=(80.0, None), b=(81.0, 0.2), c=(81.0, 0.3)))
    assert found.text.startswith("“b” and “c” have the best BLEU, but are not significantly better than the baseline")


def test_one_system_alone_and_none_scored() -> None:
    assert conclude(of(rnn=(37.0, None))).text == "“rnn” reaches BLEU 37.00 ± 1.00."
    assert "no test set" in conclude(replace(comparison("a"), evaluation=None)).text


def test_one_system_without_a_test_set_is_not_called_a_comparison() -> None:
    alone = conclude(replace(comparison("rnn"), evaluation=None))
    assert alone.text == "The system is not scored: no test set was given."
    assert "not ranked" in conclude(replace(comparison("rnn", "transformer"), evaluation=None)).text


def test_scores_of_different_validation_sets_are_not_comparable() -> None:
    report = replace(comparison("rnn", "transformer"), evaluation=None)
    said = "Their scores in validation cannot be compared: the validation sets may differ."

    def text_of(*sets: tuple[int, str, str], setting: str = "data.validation.files") -> str:
        """The verdict on runs with these sizes and files of validation sets, and fingerprints of their corpora."""
        models = {}
        for (name, (member,)), (size, files, fingerprint) in zip(report.models.items(), sets, strict=True):
            assert member.training is not None
            training = replace(member.training, pairs={"validation": size}, data_fingerprint=fingerprint)
            settings = (
                {setting: json.dumps([files]), "data.validation.format": name}
                if files
                else {"data.validation_pairs": "50"}
            )
            models[name] = (replace(member, training=training, settings=settings),)
        return conclude(replace(report, models=models)).text

    assert said not in text_of((50, "x", "a"), (50, "x", "b")), "the same files, other training corpora"
    assert said not in text_of((50, "val.en", "a"), (50, "../a/val.en", "b")), "the same files, another folder"
    own = "data.train[1].validation"
    assert said not in text_of((50, "val.en", "a"), (50, "../val.en", "b"), setting=own), "files of a corpus"
    assert said in text_of((50, "val.en", "a"), (50, "dev.en", "a"), setting=own)
    assert said not in text_of((50, "", "a"), (50, "", "a"))
    assert said in text_of((50, "x", "a"), (60, "x", "a"))
    assert said in text_of((50, "x", "a"), (50, "y", "a"))
    assert said in text_of((50, "", "a"), (50, "", "b")), "taken from other training corpora"


def test_a_winner_among_systems_that_do_not_translate_is_a_warning() -> None:
    found = conclude(of(base=(0.23, None), adapted=(0.45, 0.001)))
    assert found.level == "warning"
    assert found.text.startswith("No system translates usefully yet. “adapted” is better than the baseline “base”:")
    assert conclude(of(base=(0.23, None), adapted=(25.0, 0.001))).level == "ok"


def test_bleu_of_a_language_without_spaces_decides_nothing() -> None:
    report = of(base=(0.23, None), adapted=(0.45, 0.001))
    assert report.evaluation is not None
    evaluation = replace(report.evaluation, test_set=replace(report.evaluation.test_set, languages=("en", "th")))
    assert "usefully" not in conclude(replace(report, evaluation=evaluation)).text
