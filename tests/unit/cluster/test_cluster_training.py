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

from dragoman.environment import is_installed
from dragoman.errors import ConfigError, DataError
from testkit.tiny_project import tiny_project, tiny_training
from tests.equivalence.test_world_size import wait_for
from tests.unit.cluster.train_cases import UPDATES

pytestmark = [
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]
on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.unit.cluster.train_cases", str(tmp_path_factory.mktemp("ray"))]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@on_linux
@pytest.mark.slow
def test_one_worker_gives_the_bits_and_events_of_one_process(found: dict[str, Any]) -> None:
    assert found["1 worker"] == []
    assert found["events"] == [[0], list(range(1, UPDATES + 1))]
    assert found["bundle"] == "one/bundle"


@on_linux
@pytest.mark.slow
def test_a_killed_worker_of_two_is_started_again_with_the_same_bits(found: dict[str, Any]) -> None:
    assert found["killed"] == []
    assert found["kills"] == 1
    assert len(found["starts"]) == 2
    assert found["starts"][1] >= 3, "from a checkpoint"
    assert len([text for text in found["messages"] if text.startswith("a worker ended unexpectedly; all start")]) == 1


@on_linux
@pytest.mark.slow
def test_stopped_and_continued_with_another_number_of_workers(found: dict[str, Any]) -> None:
    assert found["ended"][:2] == ["interrupted", True]
    assert found["other number of workers"] == []


@on_linux
@pytest.mark.slow
def test_a_forgotten_position_is_noticed(found: dict[str, Any]) -> None:
    """Control."""
    assert f"step_{UPDATES}/weights.safetensors" in found["position forgotten"]


@on_linux
@pytest.mark.slow
def test_errors_are_one_line(found: dict[str, Any]) -> None:
    assert re.fullmatch(r"TrainingError: workers must reach the next checkpoint, got 1 times one .*", found["lost"])
    assert found["three"].startswith("ConfigError: training.micro_batches must be a multiple of --workers = 3, got 2;")
    assert found["workers left"] == 0


def test_folders_that_are_not_shared_are_named(tmp_path: Path) -> None:
    from dragoman.cluster.training_worker import TrainingJob, TrainingWorker

    config = tiny_training("luong2015-desk")
    job = TrainingJob(config, tiny_project().folder, tmp_path)
    with pytest.raises(DataError, match=f"{tmp_path} must be shared by all nodes, got one that does not see .shared"):
        TrainingWorker().describe(job, tmp_path / ".shared-0")
    (tmp_path / ".shared-0").touch()
    TrainingWorker().describe(job, tmp_path / ".shared-0")
    missing = TrainingJob(config, tmp_path, tmp_path)
    with pytest.raises(DataError, match=r"prepared must be shared by all nodes, got one that does not see manifest"):
        TrainingWorker().describe(missing, tmp_path / ".shared-0")


def test_torchrun_is_not_combined_with_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.cli.commands.train import _check_launcher

    _check_launcher("ray", verify_resume=False)
    with pytest.raises(ConfigError, match=r"--verify-resume must be used without --on"):
        _check_launcher("ray", verify_resume=True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    _check_launcher(None, verify_resume=True)
    with pytest.raises(ConfigError, match=r"--on ray must be used without torchrun, got both"):
        _check_launcher("ray", verify_resume=False)


@pytest.mark.long
def test_ctrl_c_ends_the_workers_and_prints_how_to_continue(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "dragoman", "train", str(tiny_project().config), "--output", str(run)]
    options = ["--set", "training.max_updates=100000", "--on", "ray", "--workers", "1"]
    started = subprocess.Popen(
        [*command, *options], env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
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
