"""``dragoman align`` as a person or a script types it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import tiny_bundle, typed

QUICK = ("--engine", "torch", "--threads", "1")
PAIRS = "abc def\teins zwei drei\nghi\t\n\tvier\n"


@pytest.mark.parametrize("preset", ["vaswani2017-desk", "luong2015-desk", "bahdanau2015-desk"])
def test_links_between_words_that_are_there(preset: str):
    result = typed("align", tiny_bundle(preset), "-", *QUICK, stdin=PAIRS)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.split("\n")
    assert len(lines) == 4
    assert re.fullmatch(r"(\d-\d( \d-\d)*)?", lines[0])
    assert {int(link[0]) for link in lines[0].split()} <= {0, 1}
    assert {int(link[2]) for link in lines[0].split()} <= {0, 1, 2}
    assert lines[1:] == ["", "", ""]


def test_unequal_files(tmp_path: Path):
    for name, text in (("source", "a\nb\n"), ("target", "a\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = typed("align", tiny_bundle(), tmp_path / "source", tmp_path / "target", *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "must have the same number of lines, got 2 and 1" in result.stderr
