"""Training on a real Ray on this machine: the bits of one process, also if workers are killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import app
from dragoman.environment import is_installed
from dragoman.errors import DataError
from testkit.tiny_project import tiny_project, tiny_training
from tests.equivalence.test_world_size import wait_for
from tests.unit.cluster.ray_environment import ray_environment
from tests.unit.cluster.train_cases import UPDATES

pytestmark = [
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]
on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")


def run_cases(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.unit.cluster.train_cases", str(folder)]
    done = subprocess.run(command, env=ray_environment(), capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@on_linux
@pytest.mark.long
def test_other_numbers_of_workers_and_a_control(tmp_path: Path) -> None:
    found = run_cases(tmp_path)
    assert found["1 worker"] == []
    assert found["events"] == [[0], list(range(1, UPDATES + 1))]
    assert found["bundle"] == "one/bundle"
    assert found["ended"][:2] == ["interrupted", True]
    assert found["other number of workers"] == []
    assert f"step_{UPDATES}/weights.safetensors" in found["position forgotten"]
    assert re.fullmatch(r"TrainingError: workers must reach the next checkpoint, got 1 times one .*", found["lost"])
    assert found["workers left"] == 0


def test_folders_that_are_not_shared_are_named(tmp_path: Path) -> None:
    from dragoman.cluster.training_worker import TrainingJob, TrainingWorker

    config = tiny_training("luong2015-desk")
    job = TrainingJob(config, tiny_project().folder, tmp_path)
    with pytest.raises(DataError, match=f"a node does not see .shared.* in {tmp_path}"):
        TrainingWorker().describe(job, tmp_path / ".shared-0")
    (tmp_path / ".shared-0").touch()
    TrainingWorker().describe(job, tmp_path / ".shared-0")
    missing = TrainingJob(config, tmp_path, tmp_path)
    with pytest.raises(DataError, match=r"a node does not see manifest.* in .*prepared"):
        TrainingWorker().describe(missing, tmp_path / ".shared-0")


def test_torchrun_is_not_combined_with_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = CliRunner().invoke(app, ["train", str(tiny_project().config), "--on", "ray"])
    assert (result.exit_code, "error: --on ray cannot be combined with torchrun" in result.stderr) == (2, True)


@pytest.mark.long
def test_ctrl_c_ends_the_workers_and_prints_how_to_continue(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "dragoman", "train", str(tiny_project().config), "--output", str(run)]
    options = ["--set", "training.max_updates=100000", "--on", "ray", "--workers", "1"]
    started = subprocess.Popen(
        [*command, *options], env=ray_environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_for((run / "checkpoints" / "step_5").exists, started)
        os.killpg(started.pid, signal.SIGINT)  # as a terminal does, to all processes of the command
        _, printed = started.communicate(timeout=180)
    finally:
        if started.poll() is None:
            started.kill()
    assert started.returncode == 130, printed
    assert re.search(r"^cluster 1 worker, 1 thread each, on ray; started in", printed, re.MULTILINE)
    assert printed.splitlines()[-1].endswith("--on ray --workers 1 --resume")
    assert "Traceback" not in printed
