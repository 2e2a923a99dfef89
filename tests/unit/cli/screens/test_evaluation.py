"""An evaluation on a terminal, in a pipe, and where there is little but ASCII."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from dragoman.cli.screens.evaluation import print_evaluation
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.results import Evaluation
from tests.unit.evaluation.made_evaluation import made_evaluation, made_member, made_system

ONE = made_system("one", made_member("one", 30.0))
LONG = "a-very-long-name-of-a-system-that-a-user-gave-it"
CHINESE = "系统一二三四五六七八九十甲乙丙丁"
MANY = [
    ONE,
    made_system(LONG, made_member(LONG, 128.5, p_value=0.0003)),
    made_system(CHINESE, made_member(CHINESE, 29.9, p_value=0.4, rich=False)),
    made_system("seeds", *(made_member(f"seeds {n}", 28.0 + n, p_value=0.01) for n in range(3))),
    made_system("\x1b[31mred\u202e", made_member("\x1b[31mred", 3.0, p_value=0.5)),
]


def shown(evaluation: Evaluation, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_evaluation(evaluation)
    return capsys.readouterr().out.splitlines()


def test_long_names_are_cut_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    assert LONG in "\n".join(shown(made_evaluation(*MANY), capsys))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown(made_evaluation(*MANY), capsys)]
    assert max(map(cell_len, lines)) <= 80
    assert LONG[:23] in "\n".join(lines)
    assert not any("\x1b" in line or "\u202e" in line for line in lines)
    assert not any(line.endswith(" ") for line in lines)
    assert "\n\n\n" not in "\n".join(lines)


def test_everything_is_there(capsys: pytest.CaptureFixture[str]):
    lines = shown(made_evaluation(ONE, MANY[1]), capsys)
    text = "\n".join(lines)
    assert lines[0] == "test_2016: 1,000 sentences, en → de, beam 5"
    assert lines[2].split() == ["system", "BLEU", "chrF++", "TER", "↓"]
    assert " ".join(lines[3].split()) == "one (baseline) 30.00 ± 1.25 31.00 ± 1.25 32.00 ± 1.25"
    assert "128.50 ± 1.25 *" in lines[4]
    assert "* p < 0.05 against one: sacreBLEU's paired bootstrap resampling." in " ".join(text.split())
    assert "−1.50 p<0.001" in text
    assert "BLEU by words of the source" in text
    assert "25.0 % flagged, 50.0 % runaway, 0.0 % repeated" in text
    assert "80.0" in text
    assert "2,351,424" in text
    assert "ctranslate2 float32, 2 threads" in " ".join(text.split())
    assert "version:2.6.0" in text
    assert not re.search(r"[|`\\]|\*\*", text.replace("nrefs", "").partition("- BLEU")[0])


def test_one_sentence(capsys: pytest.CaptureFixture[str]):
    scores = corpus_scores(["A cat sat."], ["A cat sits."], resamples=10)
    alone = replace(made_member("alone", 30.0), scores=scores, by_length=())
    lines = shown(made_evaluation(made_system("alone", alone), sentences=1), capsys)
    assert lines[0] == "test_2016: 1 sentence, en → de, beam 5"
    assert not any("±" in line for line in lines)


def test_seeds(capsys: pytest.CaptureFixture[str]):
    base = made_system("base", *(made_member(f"base {n}", 41.0 + n) for n in range(2)))
    seeds = made_system(
        "seeds", *(made_member(f"seeds {n}", 28.0 + n, p_value=0.0496) for n in range(3)), baseline=base
    )
    text = "\n".join(shown(made_evaluation(base, seeds), capsys))
    assert "29.00 ± 2.48 *" in text
    assert "seeds, sd" in text
    assert "seeds, Welch" in text
    assert "−1.50 p=0.0496" in text
    assert "40.50 ± 1.25  28.00 ± 1.25" in text  # by length, both with intervals
    assert "Welch's t-test over members" in " ".join(text.split())


def test_ascii(monkeypatch: pytest.MonkeyPatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_evaluation(made_evaluation(ONE, MANY[1]))
    sys.stdout.flush()
    assert b"30.00 +- 1.25" in raw.getvalue()
