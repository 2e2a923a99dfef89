"""The figures of tables, their marks, and Markdown."""

from __future__ import annotations

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
    assert str(figures(OTHER)[0]) == "28.50 ± 1.25 *"
    assert not any(figure.is_marked for figure in figures(ALIKE))
    (first, *_) = figures(SEEDS)
    assert (first.value, first.half_width, first.p_value) == (29.0, 0.77, 0.16)  # not all members differ
    assert [figure.p_value for figure in figures(WELCH)] == [0.02] * 3
    assert str(lengths(ONE, "bleu")["60+"]) == "28.00 ± 1.25"
    assert str(lengths(SEEDS, "bleu")["10–19"]) == "28.00"


def test_legend():
    assert list(legend(made_evaluation(ONE))) == ["± 95 % interval over sentences: bootstrap, 1,000 resamples."]
    said = list(legend(made_evaluation(ONE, OTHER)))
    assert said[1] == "* p < 0.05 against one: sacreBLEU's paired bootstrap resampling."
    said = list(legend(made_evaluation(ONE, SEEDS)))
    assert "of their mean, Student's t" in said[1]
    assert said[2].endswith("for every member.")
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
