"""A stopped run can be used: its best checkpoint becomes a bundle, and the run resumes as if nothing had happened."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from dragoman.api.evaluation.system_arguments import bundle_of, parse_systems
from dragoman.api.training.bundle_writer import average_checkpoints
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.api.translation.multi_model.translators import Translators
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle import checkpoint_bundle as module
from dragoman.bundle.locate import find_bundle, find_run
from dragoman.errors import BundleError
from dragoman.training.checkpoint import CheckpointStore
from testkit.tiny_project import Stop, Stopper, tiny_project, tiny_training, train_tiny

QUICK = ("training.max_updates=6", "training.validate_every=2", "training.checkpoint_every=1", "training.keep_last=3")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stop(run: Path, *overrides: str, after: int = 5) -> None:
    config = tiny_training("luong2015-desk", *QUICK, *overrides)
    train_model(check_training(config, tiny_project().folder, run), callbacks=[Stopper(Stop(after))])


def test_a_stopped_run_is_used_at_its_best_checkpoint_and_resumes_unchanged(tmp_path: Path):
    average = "training.ema_decay=0.9"
    run = tmp_path / "project" / "run"
    stop(run, average)
    before = tree(run)
    with pytest.warns(UserWarning, match=r"^the run is not finished: using the best checkpoint, update [24], valid.*"):
        translator = Translator.open(run, engine="torch")
    assert translator.translate("ba ce").text is not None
    with pytest.warns(UserWarning, match=r"^the run is not finished: using the best checkpoint"):
        Translators.open(run).close()
    found = find_bundle(tmp_path / "project")
    best = json.loads((run / "run.json").read_text(encoding="utf-8"))["best"]
    assert found.note == (
        f"the run is not finished: using the best checkpoint, update {best['update']}, "
        f"validation loss {best['loss']:.2f}"
    )
    assert found.path == run / "checkpoint_bundles" / f"step_{best['update']}"
    opened = Bundle.open(found.path)
    wanted = CheckpointStore(run / "checkpoints").open(best["update"]).average()
    assert wanted is not None
    assert opened.weights().keys() == wanted.keys()
    assert all(np.array_equal(array, wanted[name].numpy()) for name, array in opened.weights().items())
    assert f"| Updates | {best['update']} |" in opened.card()
    average_checkpoints(run, tmp_path / "mean", last=2)
    assert find_run(tmp_path / "project") == run
    told: list[str] = []
    (system,) = parse_systems([str(tmp_path / "project")], tell=told.append)
    assert (system.members, bundle_of(run)) == ((run,), found.path)  # a run has test sets of its own, a bundle has none
    assert any("the run is not finished" in line for line in told)
    after = tree(run)
    assert {name: after[name] for name in before} == before
    config = tiny_training("luong2015-desk", *QUICK, average)
    train_tiny(config, run)
    train_tiny(config, tmp_path / "whole")
    assert tree(run / "checkpoints" / "step_6") == tree(tmp_path / "whole" / "checkpoints" / "step_6")
    assert find_bundle(run).path == run / "bundle"


def test_without_a_validation_it_is_the_latest_and_a_damaged_checkpoint_is_not_used(tmp_path: Path):
    stop(tmp_path, "training.validate_every=100", after=3)
    assert find_bundle(tmp_path).note == (
        "the run is not finished: using the latest checkpoint, update 3, without a validation so far"
    )
    (tmp_path / "checkpoints" / "step_3" / "weights.safetensors").write_bytes(b"")
    assert "the latest checkpoint, update 2," in find_bundle(tmp_path).note
    shutil.rmtree(tmp_path / "tokenizers")
    shutil.rmtree(tmp_path / "checkpoint_bundles")
    with pytest.raises(BundleError, match=r"has no tokenizers, and is not finished.* --resume$"):
        find_bundle(tmp_path)
    for step in (1, 2, 3):
        shutil.rmtree(tmp_path / "checkpoints" / f"step_{step}", ignore_errors=True)
    (tmp_path / "checkpoints" / "step_0").mkdir(exist_ok=True)
    with pytest.raises(BundleError, match=r"has no checkpoint of a trained model yet; continue it with .* --resume$"):
        find_bundle(tmp_path)


def test_a_checkpoint_that_training_removes_meanwhile_is_replaced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stop(tmp_path, "training.validate_every=100", after=3)
    write, checkpoints = module._write, tmp_path / "checkpoints"

    def train_on(run: Path, chosen: module._Choice) -> Path:
        if chosen.update == 3:
            shutil.rmtree(checkpoints / "step_3")
        return write(run, chosen)

    monkeypatch.setattr(module, "_write", train_on)
    assert "update 2" in find_bundle(tmp_path).note


def test_several_processes_write_it_once_and_a_foreign_run_is_not_written(tmp_path: Path):
    stop(tmp_path, after=3)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(find_bundle(tmp_path).path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4
    first = (found[0] / "manifest.json").stat().st_ino
    assert find_bundle(tmp_path).path == found[0]
    assert (found[0] / "manifest.json").stat().st_ino == first
    shutil.rmtree(tmp_path / "checkpoint_bundles")
    (tmp_path / "checkpoint_bundles").write_bytes(b"")  # as good as a folder without permissions, also for root
    elsewhere = find_bundle(tmp_path).path
    assert not elsewhere.is_relative_to(tmp_path)
    Bundle.open(elsewhere)
