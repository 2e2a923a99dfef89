"""Markdown tables of an evaluation."""

from __future__ import annotations

from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.results import signatures
from tests.unit.evaluation.made_evaluation import made_evaluation, made_member, made_system

ONE = made_system("one", made_member("one", 30.0))
OTHER = made_system("other", made_member("other", 28.5, p_value=0.003))
SIMILAR = made_system("similar", made_member("similar", 29.9, p_value=0.4, rich=False))
SEEDS = made_system("seeds", *(made_member(f"seeds {n}", 28.0 + n) for n in range(3)))


def test_a_table_to_paste():
    text = evaluation_markdown(made_evaluation(ONE, OTHER, SIMILAR))
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


def test_lengths_of_several_seeds_have_intervals():
    text = evaluation_markdown(made_evaluation(SEEDS))
    assert "| 10–19 | 28.00 ± 1.25 |" in text


def test_names_cannot_break_the_table():
    evil = made_system("a|b\n*c*", made_member("a|b\n*c*", 30.0))
    text = evaluation_markdown(made_evaluation(evil, test="x|y"))
    assert text.splitlines()[2].startswith("| a\\|b \\*c\\* | 30.00")


def test_parts_that_were_not_evaluated_are_omitted():
    text = evaluation_markdown(made_evaluation(SIMILAR))
    for part in ("perturbation", "flagged", "CPU", "Search"):
        assert part not in text
