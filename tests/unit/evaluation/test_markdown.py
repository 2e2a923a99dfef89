"""The figures of tables, their marks, and Markdown."""

from __future__ import annotations

from dataclasses import replace

from dragoman.evaluation.figures import figures, legend, lengths, signatures
from dragoman.evaluation.markdown import markdown
from tests.unit.evaluation.made_evaluation import made_evaluation, made_member, made_system

ONE = made_system("one", made_member("one", 30.0))
OTHER = made_system("other", made_member("other", 28.5, p_value=0.003))
ALIKE = made_system("alike", made_member("alike", 29.9, p_value=0.4, rich=False))
SEEDS = made_system("seeds", *(made_member(f"seeds {n}", 28.0 + n, p_value=0.01 * 4**n) for n in range(3)))
WELCH = made_system("welch", *(made_member(f"welch {n}", 28.0 + n, p_value=0.9) for n in range(3)), welch=0.02)


def test_figures():
    assert [str(figure) for figure in figures(ONE)] == ["30.00 ± 1.25", "31.00 ± 1.25", "32.00 ± 1.25"]
    assert str(figures(OTHER, ONE)[0]) == "28.50 ± 1.25 *"
    assert not any(figure.is_marked for figure in figures(ALIKE, ONE))
    (first, *_) = figures(SEEDS, ONE)
    assert (first.value, first.half_width, first.p_value) == (29.0, 0.77, 0.16)  # not all members differ
    assert [figure.p_value for figure in figures(WELCH, SEEDS)] == [0.02] * 3
    assert str(lengths(ONE, "bleu")["60+"]) == "28.00 ± 1.25"
    assert str(lengths(SEEDS, "bleu")["10–19"]) == "28.00"


def test_members_on_both_sides_of_the_baseline_are_not_marked():
    first, second = (made_member(f"both {n}", 30.0, p_value=0.001) for n in range(2))
    assert all(figure.is_marked for figure in figures(made_system("both", first, second), ONE))
    opposite = replace(first, against_baseline=tuple(replace(r, difference=1.5) for r in first.against_baseline))
    assert not any(figure.is_marked for figure in figures(made_system("both", opposite, second), ONE))


def test_where_welch_knows_nothing_nothing_is_marked():
    members = [made_member(f"same {n}", 28.0, p_value=0.001) for n in range(2)]
    some = replace(made_system("same", *members, welch=0.02), seeds_differ={"bleu": 0.02})
    assert [figure.is_marked for figure in figures(some, SEEDS)] == [True, False, False]
    none = made_system("same", *members)
    assert not any(figure.is_marked for figure in figures(none, SEEDS))
    assert list(legend(made_evaluation(SEEDS, none)))[-1] == "* p < 0.05 against seeds: Welch's t-test over members."
    assert all(figure.is_marked for figure in figures(none, ONE))


def test_one_sentence_has_no_interval():
    alone = made_system("alone", replace(made_member("alone", 30.0), hypotheses=("a",)))
    assert [str(figure) for figure in figures(alone)] == ["30.00", "31.00", "32.00"]
    evaluation = replace(made_evaluation(alone), sentences=1)
    assert not list(legend(evaluation))
    text = markdown(evaluation)
    assert "1 sentence," in text
    assert "| alone | 30.00 | 31.00 | 32.00 |" in text


def test_legend():
    assert list(legend(made_evaluation(ONE))) == ["± 95 % interval over sentences: bootstrap, 1,000 resamples."]
    said = list(legend(made_evaluation(ONE, OTHER)))
    assert said[1] == "* p < 0.05 against one: sacreBLEU's paired bootstrap resampling."
    said = list(legend(made_evaluation(ONE, SEEDS)))
    assert "of their mean, Student's t" in said[1]
    assert said[2].endswith("for every member.")
    assert list(legend(made_evaluation(SEEDS, OTHER)))[-1].endswith("for every member.")
    assert list(legend(made_evaluation(SEEDS, WELCH)))[-1] == "* p < 0.05 against seeds: Welch's t-test over members."


def test_a_table_to_paste():
    text = markdown(made_evaluation(ONE, OTHER, ALIKE))
    lines = text.splitlines()
    assert lines[0] == "| system | BLEU | chrF++ | TER ↓ |"
    assert lines[1] == "| --- | --: | --: | --: |"
    assert lines[2] == "| one (baseline) | 30.00 ± 1.25 | 31.00 ± 1.25 | 32.00 ± 1.25 |"
    assert lines[3].startswith("| other | 28.50 ± 1.25 * |")
    for table in text.split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1
    for signature in signatures(made_evaluation(ONE)).values():
        assert f"`{signature}`" in text
    assert "beam 5" in text
    assert "en → de" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_names_cannot_break_the_table():
    evil = made_system("a|b\n*c*", made_member("a|b\n*c*", 30.0))
    text = markdown(made_evaluation(evil, test="x|y"))
    assert text.splitlines()[2].startswith("| a\\|b \\*c\\* | 30.00")


def test_what_was_not_asked_for_is_left_out():
    text = markdown(made_evaluation(ALIKE))
    for part in ("probe", "flagged", "CPU", "Search"):
        assert part not in text
