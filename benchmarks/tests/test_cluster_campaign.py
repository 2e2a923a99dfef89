"""The campaign that kills processes of a cluster: its comparisons, its planted faults and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.cluster_campaign.__main__ import Row, is_kept, page
from benchmarks.cluster_campaign.commands import Prepare, Train, Translate
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from testkit.tiny_project import tiny_project, tiny_training


def test_doubled_lines_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Translate, "lines", 5)
    command = Translate(tmp_path / "work")
    reference, output = (command.output(name) for name in ("reference", "control"))
    reference.write_bytes(b"a\nb\nc\n")
    output.with_name("control.part").write_bytes(b"a\nb")
    journal = {"done": {"lines": 1, "output_bytes": 2}}
    output.with_name("control.part.json").write_text(json.dumps(journal), encoding="utf-8")
    assert command.progress(output) == "1 lines"
    command.plant(output)
    output.write_bytes(reference.read_bytes())  # translated again
    assert command.differences(output, reference) == []
    command.finish_control(output)
    assert command.differences(output, reference) == ["4 lines instead of 3"]


def test_another_corpus_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Prepare, "pairs", 50)
    command = Prepare(tmp_path / "work")
    reference, output = (command.output(name) for name in ("reference", "control"))
    for folder in (reference, output):
        (folder / "prepared/work").mkdir(parents=True)
        (folder / "prepared/manifest.json").write_text("same", encoding="utf-8")
        (folder / "prepared/work/cache").write_text(folder.name, encoding="utf-8")
    assert command.differences(output, reference) == []
    command.plant(output)
    assert (output / "train.en").read_bytes() != (reference / "train.en").read_bytes()
    (output / "prepared/manifest.json").write_text("other", encoding="utf-8")
    assert command.differences(output, reference) == ["manifest.json"]


def test_another_position_is_found(tmp_path: Path):
    command = Train(tmp_path / "work")
    config, folder = tiny_training("luong2015-desk", "training.reproducible=true"), tiny_project().folder
    half = config.model_copy(update={"training": config.training.model_copy(update={"max_updates": 6})})
    train_model(check_training(config, folder, tmp_path / "reference"))
    train_model(check_training(half, folder, tmp_path / "control"))
    command.plant(tmp_path / "control")
    train_model(check_training(config, folder, tmp_path / "control", resume=True))
    assert command.differences(tmp_path / "control", tmp_path / "reference") != []


def test_page():
    kills: list[dict[str, str | float]] = [{"kind": "worker", "at": "9 lines", "after": 2.0}]
    kept = Row("translate", 1, kills, runs=1, control="found: 4 lines instead of 3")
    assert is_kept([kept])
    assert "| translate | 1 | 0 | 0 | 1 | **0** | 0 |" in page([kept], "command")
    assert not is_kept([kept, Row("train", 1, control="NOT FOUND")])
    failed = Row("train", 2, failures=["run 1: not the same: step_3"], control="refused: error")
    assert not is_kept([failed])
    assert "- train, run 1: not the same: step_3" in page([failed], "command")
    assert "The time did not suffice: train: 0 of 2 kills." in page([failed], "command")
