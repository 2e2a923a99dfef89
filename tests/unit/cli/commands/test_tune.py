"""``dragoman tune`` as a person types it, on the tiny project."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dragoman.api.training import training_run
from dragoman.api.training.checked_training import CheckedTraining
from dragoman.cli.main import app
from dragoman.config import load_config
from dragoman.environment import is_installed
from dragoman.errors import TrainingError
from dragoman.files import read_json, sha256_of_file
from testkit.tiny_project import tiny_project
from tests.unit.cluster.ray_environment import ray_environment

QUICK = [
    *("--set", "training.max_updates=8", "--set", "training.validate_every=2", "--set", "training.batch_tokens=96"),
    *("--set", "training.validation_sentences=2", "--threads", "1"),
]
SPACE = """
trials = 4
factor = 2
min_updates = 2
[space]
training.learning_rate = { low = 1e-4, high = 1e-2, log = true }
training.label_smoothing = [0.0, 0.1]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(tiny_project().folder, folder)
    (folder / "tune.toml").write_text(SPACE, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["tune", *arguments])


def weights(folder: Path) -> dict[str, str]:
    """Hashes of the newest weights of all trials."""
    newest = (max(each.glob("checkpoints/step_*"), key=_step) for each in sorted(folder.glob("trial-*")))
    return {
        f"{each.parents[1].name}/{each.name}/{path.name}": sha256_of_file(path)
        for each in newest
        for path in each.glob("*.safetensors")
    }


def _step(path: Path) -> int:
    return int(path.name.partition("_")[2])


def test_a_search_and_the_tuned_configuration(project: Path) -> None:
    result = run(*QUICK)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["trial", "training.learning_rate", "training.label_smoothing", "updates", "loss"]
    best = lines[1].split()[0]
    assert [line.split()[-2] for line in lines[1:5]] == ["8", "4", "2", "2"], result.stdout
    assert lines[-2:] == ["curves  dragoman compare tune/trial-*", "config  tuned.toml"]
    assert f"next    dragoman translate tune/{best}" in result.stderr
    assert "rung 3 of 3: 1 × 8 updates" in result.stderr
    assert (project / "tune" / best / "bundle" / "manifest.json").is_file()

    tuned, trial = load_config(project / "tuned.toml"), load_config(project / "tune" / best / "dragoman.toml")
    assert tuned.training.learning_rate == trial.training.learning_rate
    assert tuned.training.max_updates == 8
    assert tuned.training.threads != 1, "the threads of this machine are not among the settings"
    compared = CliRunner().invoke(app, ["compare", "tune/trial-000", "tune/trial-001", "-o", "compared.html"])
    assert compared.exit_code == 0, compared.stderr

    before = weights(project / "tune")
    again = run(*QUICK, "--json")
    assert again.exit_code == 0, again.stderr
    found = json.loads(again.stdout)
    assert (f"trial-{found['best']:03}", found["config"]) == (best, "tuned.toml")
    assert [len(found["trials"]), found["metric"]] == [4, "loss"]
    assert weights(project / "tune") == before, "a complete search trains nothing again"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 75), pytest.param(signal.SIGINT, 130, marks=pytest.mark.long)]
)
def test_an_interrupted_search_continues_with_the_same_bits(project: Path, number: signal.Signals, code: int) -> None:
    whole = run(*QUICK, "--output", "whole")
    assert whole.exit_code == 0, whole.stderr
    command = [sys.executable, "-m", "dragoman", "tune", *QUICK, "--output", "stopped"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        if (project / "stopped/trial-002/log.jsonl").exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code, told
    assert "run the same command to continue" in told
    continued = run(*QUICK, "--output", "stopped")
    assert continued.exit_code == 0, continued.stderr
    assert weights(project / "stopped") == weights(project / "whole")


@pytest.mark.long
@pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster")
@pytest.mark.xdist_group("ray")
def test_two_workers_of_ray_give_the_same_bits(project: Path) -> None:
    local = run(*QUICK, "--output", "local")
    assert local.exit_code == 0, local.stderr
    environment = ray_environment()
    command = [sys.executable, "-m", "dragoman", "tune", *QUICK, "--output", "cluster", "--on", "ray", "--workers", "2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "cluster 2 workers, 1 thread each, on ray; started in" in done.stderr
    assert done.stdout.splitlines()[1:5] == local.stdout.splitlines()[1:5]
    assert weights(project / "cluster") == weights(project / "local")


def test_a_trial_that_diverges_does_not_end_the_search(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = training_run.train_model

    def diverging(training: CheckedTraining, **options: Any) -> Any:
        if training.run.name in failing:
            raise TrainingError("training must not diverge, got 3 rollbacks")
        return train(training, **options)

    failing = {"trial-001"}

    monkeypatch.setattr(training_run, "train_model", diverging)
    result = run(*QUICK)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[4].split()[0::4] == ["trial-001", "failed"]
    assert "trial-001 failed: training must not diverge, got 3 rollbacks\n" in result.stdout
    failing |= {f"trial-{number:03}" for number in range(4)}
    assert "error: no trial in rung 1 has a score: " in run(*QUICK, "--output", "other").stderr


def test_mistakes(project: Path) -> None:
    assert run(*QUICK).exit_code == 0
    (project / "tune.toml").write_text(SPACE.replace("1e-2", "2e-2"), encoding="utf-8")
    other = run(*QUICK)
    assert other.exit_code == 2
    assert other.stderr.startswith("error: tune has the trials of another search; name")
    (project / "tune.toml").unlink()
    assert run(*QUICK).stderr.startswith("error: tune.toml does not exist; write ")
    (project / "tuned.toml").write_text("mine = 1\n", encoding="utf-8")
    (project / "tune.toml").write_text(SPACE, encoding="utf-8")
    assert run(*QUICK).stderr.startswith("error: tuned.toml was not written by dragoman tune; rename it")
    assert run(*QUICK, "--workers", "2").stderr.startswith("error: --workers needs --on")
    assert read_json(project / "tune/tuning.json")
