"""A training that is killed before any of its writes resumes to the same weights and reports every event once.

`kill -9` leaves the folder in its current state. So the folder of one training is copied before each write, and a run
is resumed from each copy. On its way are validations, checkpoints that are due, one that is replaced
by that of the last validation, and a return to an earlier update past a checkpoint that is not sound.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.training.callbacks.run_record import RunLog
from dragoman.training.checkpoint import CheckpointStore
from testkit.tiny_project import tiny_training, train_tiny
from testkit.training_faults.run_differences import differences
from tests.hostile.injected_faults import poison

SETTINGS = {
    "max_updates": 9,
    "checkpoint_every": 3,
    "validate_every": 4,
    "log_every": 2,
    "micro_batches": 1,
    "batch_tokens": 64,
}
BAD = {4: "nan", 5: "inf", 6: "nan"}
DEEDS = ((Path, "replace"), (RunLog, "append"), (CheckpointStore, "save"), (CheckpointStore, "prune"))


def copied_before(do: Callable[..., Any], run: Path, copies: Path) -> Callable[..., Any]:
    def watched(*arguments: Any, **settings: Any) -> Any:
        shutil.copytree(run, copies / f"{len(list(copies.iterdir())):03}")
        return do(*arguments, **settings)

    return watched


def words(run: Path) -> list[dict[str, Any]]:
    """The log entries of the rollback, without the time."""
    entries = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [entry | {"time": None} for entry in entries if entry["kind"] == "note" and "update" in entry["text"]]


@pytest.mark.slow
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 5])
def test_killed_before_any_write(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    config = tiny_training("luong2015-desk", *(f"training.{name}={value}" for name, value in SETTINGS.items()))
    poison(monkeypatch, config, BAD)
    run, copies = tmp_path / "run", tmp_path / "copies"
    copies.mkdir()
    with monkeypatch.context() as patch:
        for owner, name in DEEDS:
            patch.setattr(owner, name, copied_before(getattr(owner, name), run, copies))
        train_tiny(config, run)
    said = words(run)
    assert any("rolled back to update 4" in word["text"] for word in said)
    unlike = {}
    for copy in sorted(copies.iterdir())[::every]:
        for draft in copy.glob("*.tmp"):  # as another process leaves it
            draft.rename(draft.with_suffix("").with_suffix(".1.tmp"))
        train_tiny(config, copy)
        assert list(copy.rglob("*.tmp")) == []
        found = differences(copy, run) + (["what is noted"] if words(copy) != said else [])
        if found:
            unlike[copy.name] = found
    assert len(list(copies.iterdir())) > 40
    assert unlike == {}
