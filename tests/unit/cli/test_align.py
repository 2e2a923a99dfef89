"""``dragoman align`` as a person or a script types it."""

from __future__ import annotations

import json
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


def test_json():
    plain = typed("align", tiny_bundle(), "-", *QUICK, stdin=PAIRS).stdout.splitlines()
    rows = [
        json.loads(line)
        for line in typed("align", tiny_bundle(), "-", *QUICK, "--json", stdin=PAIRS).stdout.splitlines()
    ]
    assert [" ".join(f"{source}-{target}" for source, target in row["alignment"]) for row in rows] == plain
    assert (rows[0]["source_words"], rows[0]["target_words"]) == (["abc", "def"], ["eins", "zwei", "drei"])


def test_an_ensemble():
    words = "abc def ghi jkl mno pqr"
    pairs = f"{words}\teins zwei drei vier fünf sechs\n" * 2
    one, other = tiny_bundle("luong2015-desk"), tiny_bundle("bahdanau2015-desk", 2)
    together = typed("align", one, "-", "--with", other, *QUICK, "--json", stdin=pairs)
    assert together.exit_code == 0, together.stderr
    assert together.stderr.startswith("engine  ensemble of 2: torch")
    alone = typed("align", one, "-", *QUICK, "--json", stdin=pairs)
    assert (
        json.loads(together.stdout.splitlines()[0])["log_prob"] != json.loads(alone.stdout.splitlines()[0])["log_prob"]
    )


def test_unequal_files(tmp_path: Path):
    for name, text in (("source", "a\nb\n"), ("target", "a\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = typed("align", tiny_bundle(), tmp_path / "source", tmp_path / "target", *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "must have the same number of lines, got 2 and 1" in result.stderr
