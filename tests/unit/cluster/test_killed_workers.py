"""Workers of a real Ray on this machine: the results of one process, also if workers are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.environment import is_installed
from tests.unit.cluster.pool_cases import KILLS
from tests.unit.cluster.prepare_cases import KILLED_IN
from tests.unit.cluster.ray_environment import ray_environment


@pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_killed_workers_change_no_result(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.cluster.killed_workers", str(tmp_path)]
    environment = ray_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])

    translated = found["pool_cases"]
    flags = translated["flags"]
    same = {"lines": 241, "same": True, "job": True, "languages": True, "flags": flags, "killed": KILLS}
    assert translated["2 workers"] == same
    assert translated["missing"].startswith("BundleError: /none/bundle is missing on a node; ")

    prepared = found["prepare_cases"]
    assert prepared["killed"] == len(KILLED_IN)
    assert prepared["2 workers"]
    assert prepared["manifest of 2 workers"] == prepared["manifest"]

    trained = found["train_cases"]
    assert trained["killed"] == []
    assert trained["kills"] == 1
    assert len(trained["starts"]) == 2
    assert trained["starts"][1] >= 3, "from a checkpoint"
    restarts = [text for text in trained["messages"] if text.startswith("a worker ended unexpectedly; all start")]
    assert len(restarts) == 1
    assert trained["three"].startswith(
        "ConfigError: training.micro_batches must be a multiple of --workers = 3, got 2;"
    )
    assert trained["workers left"] == 0
