"""The command that trains the desk presets at full size, cut down to two updates of the smallest of them."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import learning, reporting


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reporting, "RESULTS", tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["learning", "--threads", "1", *arguments])
    learning.main()


def test_writes_a_page_and_the_figures_behind_it(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "--presets", "cho2014-desk", "--updates", "2", "--batch", "8")
    (figures,) = json.loads((results / "learning.json").read_text(encoding="utf-8"))
    assert (figures["preset"], figures["task"], figures["updates"]) == ("cho2014-desk", "short copy", 2)
    page = (results / "learning.md").read_text(encoding="utf-8")
    assert "torch" in page, "where it was measured"
    assert f"| cho2014-desk | short copy | 2 | {figures['exact']:.3f} | 0.90 | – |" in page


def test_only_presets_that_have_a_task_may_be_named(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "--presets", "cho2014")
    assert "cho2014-desk" in capsys.readouterr().err
    assert not list(results.iterdir())
