"""Scores with intervals and marks, and the legend that explains them."""

from __future__ import annotations

from dataclasses import replace

from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.results import SystemResult, format_score, legend
from tests.unit.evaluation.made_evaluation import made_evaluation, made_member, made_system

ONE = made_system("one", made_member("one", 30.0))
OTHER = made_system("other", made_member("other", 28.5, p_value=0.003))
SEEDS = made_system("seeds", *(made_member(f"seeds {n}", 28.0 + n, p_value=0.01 * 4**n) for n in range(3)))
WELCH = made_system("welch", *(made_member(f"welch {n}", 58.0 + n, p_value=0.9) for n in range(3)), baseline=SEEDS)


def shown(system: SystemResult) -> list[str]:
    return [format_score(score, system.test(score.metric)) for score in system.scores]


def test_scores_have_an_interval_and_a_mark():
    assert shown(ONE) == ["30.00 ± 1.25", "31.00 ± 1.25", "32.00 ± 1.25"]
    assert shown(OTHER)[0] == "28.50 ± 1.25 *"
    assert shown(SEEDS)[0] == "29.00 ± 2.48"  # not all members differ significantly
    assert shown(WELCH)[0] == "59.00 ± 2.48 *"


def test_members_on_both_sides_of_the_baseline_have_no_mark():
    members = [made_member(f"both {n}", 30.0, p_value=0.001, difference=1.5 - 3 * n) for n in range(2)]
    assert not any(text.endswith("*") for text in shown(made_system("both", *members)))


def test_one_sentence_has_no_interval():
    scores = corpus_scores(["A cat sat on the mat."], ["A cat is on the mat."], resamples=10)
    assert [score.interval for score in scores] == [None, None, None]
    assert "bs:10" not in scores[0].signature
    alone = made_system("alone", replace(made_member("alone", 30.0), scores=scores))
    evaluation = made_evaluation(alone, sentences=1)
    assert not list(legend(evaluation))
    text = evaluation_markdown(evaluation)
    assert "1 sentence," in text
    assert "±" not in text.splitlines()[2]


def test_legend():
    assert list(legend(made_evaluation(ONE))) == ["± 95 % interval over sentences: bootstrap, 1,000 resamples."]
    lines = list(legend(made_evaluation(ONE, OTHER)))
    assert lines[1] == "* p < 0.05 against one: sacreBLEU's paired bootstrap resampling."
    lines = list(legend(made_evaluation(ONE, SEEDS)))
    assert "of their mean, Student's t" in lines[1]
    assert lines[2].endswith("for every member.")
    assert list(legend(made_evaluation(SEEDS, OTHER)))[-1].endswith("for every member.")
    assert list(legend(made_evaluation(SEEDS, WELCH)))[-1] == "* p < 0.05 against seeds: Welch's t-test over members."


def test_a_table_without_a_mark_has_no_footnote_for_it():
    same = made_system("same", made_member("same", 30.1, p_value=0.4))
    last = list(legend(made_evaluation(ONE, same)))[-1]
    assert last == "No difference from one has p < 0.05: sacreBLEU's paired bootstrap resampling."
