"""`dragoman distill`: translations of a teacher, or of an ensemble, as a corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testkit.random_bundle import words
from tests.unit.cli.tiny_translators import tiny_bundle, typed

RANDOM = ("--engine", "torch", "--threads", "1", "--sample", "--temperature", "1000")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [" ".join(words(row, 6)) for row in range(60)]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def read(name: str) -> list[str]:
    return Path(name).read_text(encoding="utf-8").split("\n")[:-1]


def test_pairs_of_a_teacher_and_of_an_ensemble(place: Path):
    one, other = tiny_bundle(seed=1), tiny_bundle(seed=2)
    for folder, more in (("single", ()), ("both", ("--ensemble", other))):
        result = typed("distill", one, "text", "-o", folder, *RANDOM, *more)
        assert result.exit_code == 0, result.stderr
        record = json.loads(Path(folder, "record.json").read_text(encoding="utf-8"))
        assert record["kind"] == "distillation"
        assert len(record["models"]) == len(record["translation"]["bundles"]) == 1 + len(more) // 2
        sources = read(f"{folder}/synthetic.source")
        assert len(sources) == record["pairs"]["kept"] > 0
        assert set(sources) <= set(read("text"))
    assert read("single/synthetic.target") != read("both/synthetic.target")
    plain = typed("translate", one, "text", *RANDOM)
    assert set(read("single/synthetic.target")) <= set(plain.stdout.split("\n"))
