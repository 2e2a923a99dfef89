"""``dragoman score`` as a person or a script types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.api.files import input_lines as lines
from dragoman.api.files import parallel_lines as line_pairs
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from tests.unit.cli.tiny_translators import tiny_bundle, typed

QUICK = ("--engine", "torch", "--threads", "1")


@pytest.fixture
def sides(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, text in zip(paths, ("abc def\n\nghi\n", "eins zwei\ndrei\n\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_a_line_a_pair(sides: list[Path]):
    result = typed("score", tiny_bundle(), *sides, *QUICK)
    assert result.exit_code == 0, result.stderr
    rows = [[float(field) for field in line.split("\t")] for line in result.stdout.splitlines()]
    assert [len(row) for row in rows] == [2, 2, 2]
    assert all(total <= mean < 0 for total, mean in rows)
    assert rows[2][0] == rows[2][1]  # the end alone
    tabbed = typed("score", tiny_bundle(), "-", *QUICK, stdin="abc def\teins zwei\n\tdrei\nghi\t\n")
    assert tabbed.stdout == result.stdout


def test_json(sides: list[Path]):
    plain = typed("score", tiny_bundle(), *sides, *QUICK).stdout.splitlines()
    rows = [json.loads(line) for line in typed("score", tiny_bundle(), *sides, *QUICK, "--json").stdout.splitlines()]
    assert [row["source"] for row in rows] == ["abc def", "", "ghi"]
    assert [row["text"] for row in rows] == ["eins zwei", "drei", ""]
    assert [f"{row['log_prob']:.6f}\t{row['score']:.6f}" for row in rows] == plain


def test_unequal_files(sides: list[Path]):
    sides[1].write_text("one\n", encoding="utf-8")
    result = typed("score", tiny_bundle(), *sides, *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {sides[0]} and {sides[1]} must have the same number of lines, got 3 and 1;" in result.stderr


def test_an_ensemble(sides: list[Path]):
    result = typed("score", tiny_bundle(), *sides, "--ensemble", tiny_bundle("luong2015-desk"), *QUICK)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 3
    assert result.stdout != typed("score", tiny_bundle(), *sides, *QUICK).stdout


@pytest.mark.parametrize("command", ["score", "align"])
def test_a_pair_that_is_too_long_is_named_by_its_line(monkeypatch: pytest.MonkeyPatch, command: str):
    monkeypatch.setattr(line_pairs, "_PAIRS", 2)
    monkeypatch.setattr(lines, "_LINES", 2)
    score = Translator.score

    def refusing(self, sources, targets, **options):
        if "x" in sources:
            raise PairError(sources.index("x"), "its source is too long; shorten it")
        return score(self, sources, targets, **options)

    monkeypatch.setattr(Translator, "score", refusing)
    result = typed(command, tiny_bundle(), "-", *QUICK, stdin="abc def\teins\n" * 3 + "x\ty\n")
    assert (result.exit_code, result.stdout.count("\n")) == (1, 2)
    assert result.stderr.splitlines()[-1] == "error: standard input:4: its source is too long; shorten it"


def test_a_file_that_is_none(tmp_path: Path):
    result = typed("score", tiny_bundle(), tmp_path / "none", tmp_path / "none", *QUICK)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()  # before a model is loaded
    assert "does not exist; check" in line
