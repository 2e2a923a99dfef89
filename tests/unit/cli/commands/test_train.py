"""``dragoman train`` and ``dragoman average`` as a person types them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dragoman.cli.commands.train import _significance_note, _worse_note
from dragoman.cli.main import app
from dragoman.evaluation.results import Score, SetScore, SignificanceTest
from dragoman.files import file_lock
from testkit.tiny_project import tiny_project

Run = Callable[..., Result]
QUICK = [
    *("--set", "training.max_updates=4", "--set", "training.validate_every=2", "--set", "training.checkpoint_every=1"),
    *("--set", "training.batch_tokens=96", "--set", "training.keep_last=4"),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In a copy of the tiny project."""
    shutil.copytree(tiny_project().folder, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")

    def type_in(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    return type_in


def test_a_finished_cosine_is_not_to_be_resumed(run: Run):
    cosine = [*QUICK, "--set", "training.schedule=cosine"]
    result = run("train", *cosine)
    assert result.exit_code == 0, result.stderr
    advice = "train again with a larger training.max_updates and another --output, or on more text"
    assert f"note    the model does not translate yet: {advice}" in result.stdout.splitlines()
    again = run("train", *cosine)
    assert again.stderr == (
        "error: run has a finished run already; translate with it: dragoman translate run, or name "
        "another folder with --output\n"
    )
    result = run("train", *cosine, "--set", "training.max_updates=6", "--resume")
    assert result.exit_code == 2
    assert (
        "leave out --set training.max_updates (the learning rate of the cosine schedule ends there), or"
        in result.stderr
    )


def test_from_data_to_a_bundle_and_its_average(run: Run):
    result = run("train", *QUICK)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["set", "sentences", "model", "bleu", "chrf++"]
    assert re.fullmatch(r"validation +\d+  trained +[\d.]+ ± [\d.]+ +[\d.]+ ± [\d.]+", lines[1])
    assert "tok:13a" in lines[3]
    assert any(line.startswith("note    the model does not translate yet: continue with --resume") for line in lines)
    assert lines[-2].startswith("bundle  run/bundle")
    assert lines[-1] == "curves  dragoman compare run"
    for name in ("dragoman.toml", "run.json", "log.jsonl", "checkpoints/step_4", "bundle/manifest.json"):
        assert (Path("run") / name).exists(), name
    mean = run("average", "run", "--output", "mean", "--last", "2")
    assert (mean.exit_code, mean.stdout) == (0, "bundle  mean\n"), mean.stderr
    many = run("average", "run", "--output", "other", "--last", "20")
    assert many.exit_code == 1
    assert many.stderr.startswith("error: run/checkpoints has 4 checkpoints to average, not 20: ")


def test_json_is_for_scripts(run: Run):
    result = run("train", *QUICK, "--json", "--output", "elsewhere")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["bundle"] == "elsewhere/bundle"
    assert (found["ended"], found["update"]) == ("finished", 4)
    assert re.fullmatch(r"[0-9a-f]{64}", found["digest"])
    (scored,) = found["scores"]
    assert scored["model"] == "trained", "as in the table"
    assert [score["metric"] for score in scored["scores"]] == ["bleu", "chrf++"]
    assert all(score["interval"]["half_width"] >= 0 for score in scored["scores"])


def test_a_run_that_is_there(run: Run):
    assert run("train", *QUICK).exit_code == 0
    again = run("train", *QUICK)
    assert again.exit_code == 2
    assert again.stderr.startswith("error: run has a finished run already; translate with it: dragoman")
    shutil.rmtree("run/bundle")
    stopped = run("train", *QUICK)
    assert stopped.stderr.startswith("error: run has a run with checkpoints already;")
    other = run("train", *QUICK, "--set", "training.learning_rate=0.5", "--resume")
    assert other.exit_code == 2
    assert (
        "got training.learning_rate = 0.5 instead of 0.001; leave out --set training.learning_rate, or" in other.stderr
    )
    assert run("train", *QUICK, "--resume").exit_code == 0


def test_a_run_that_another_process_trains_is_rejected_before_torch_is_imported(run: Run):
    Path("run").mkdir()
    with file_lock(Path("run/.lock")):
        command = [sys.executable, "-X", "importtime", "-m", "dragoman", "train", "--resume"]
        found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert found.returncode == 2
    assert "error: another training is running in run; wait" in found.stderr
    assert "torch" not in [line.rpartition("|")[2].strip() for line in found.stderr.splitlines()]


def test_what_was_never_prepared_is_prepared_first(run: Run):
    shutil.rmtree("prepared")
    result = run("train", *QUICK, "--json")
    assert result.exit_code == 0, result.stderr
    assert "preparing them first" in result.stderr
    assert " training pairs" in result.stderr
    assert json.loads(result.stdout)["bundle"] == "run/bundle"
    assert Path("prepared/manifest.json").exists()


def test_several_processes_need_prepared_data(run: Run, monkeypatch: pytest.MonkeyPatch):
    shutil.rmtree("prepared")
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = run("train", *QUICK)
    assert result.exit_code == 1
    assert "has no prepared data; run dragoman prepare first" in result.stderr
    assert not Path("run").exists()


def test_a_run_that_is_there_is_found_before_data_are_prepared(run: Run):
    assert run("train", *QUICK).exit_code == 0
    shutil.rmtree("prepared")
    assert run("train", *QUICK).exit_code == 2
    assert not Path("prepared").exists()


def test_a_configuration_without_data(run: Run):
    Path("bare.toml").write_text('extends = "luong2015-desk"\n', encoding="utf-8")
    result = run("train", "bare.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: the configuration has no [data] section; dragoman new")


def test_ctrl_c_prints_the_command_that_continues(run: Run):
    def interrupt() -> None:
        while not Path("its run/checkpoints/step_1").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    stopped = run("train", *QUICK, "--set", "training.max_updates=1000000", "--output", "its run")
    thread.join()
    assert stopped.exit_code == 130
    found = re.search("^continue with: (.+)$", stopped.stderr, re.MULTILINE)
    assert found is not None, stopped.stderr
    command = shlex.split(found[1])
    assert command[:2] + command[-3:] == ["dragoman", "train", "--output", "its run", "--resume"]
    saved = max(int(path.name.removeprefix("step_")) for path in Path("its run/checkpoints").glob("step_*"))
    again = run(*command[1:], "--set", f"training.max_updates={saved + 1}")
    assert again.exit_code == 0, again.stderr
    assert json.loads(Path("its run/run.json").read_text(encoding="utf-8"))["update"] == saved + 1


def test_a_page_is_written_and_stays_as_the_report(run: Run):
    result = run("train", *QUICK, "--page")
    assert result.exit_code == 0, result.stderr
    assert "page    run/report.html" in result.stderr.splitlines()
    assert "report  run/report.html" in result.stdout.splitlines()
    assert "Training is complete" in Path("run/report.html").read_text(encoding="utf-8")


def test_a_run_that_is_there_is_named_before_torch_is_imported(run: Run):
    assert run("train", *QUICK).exit_code == 0
    script = (
        "import sys; from dragoman.cli.main import app\n"
        "try: app(['train'], standalone_mode=False)\n"
        "except BaseException: pass\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "has a finished run already" in done.stderr
    assert done.stdout.strip() == "False"


def test_the_mark_of_a_score_is_explained_only_if_there_is_one():
    tests = [SignificanceTest("bleu", "bootstrap", 1.0, p_value) for p_value in (0.4, 0.01)]
    assert _significance_note(tests) == "* differs from the base, p < 0.05, paired bootstrap"
    assert _significance_note(tests[:1]) == "no score differs from the base, p < 0.05, paired bootstrap"


def test_a_fine_tuned_model_that_is_worse_than_its_base_is_told():
    tests = (SignificanceTest("bleu", "bootstrap", -1.0, 0.4), SignificanceTest("chrf++", "bootstrap", -1.41, 0.01))
    scores = (Score("bleu", 2.0), Score("chrf++", 13.19))
    worse = SetScore("test", "trained", 50, scores, tests)
    assert _worse_note([worse, SetScore("test", "before", 50, scores)]) == (
        "the trained model is worse than the base (test: chrF++ 14.60 → 13.19): keep the base for such text, or train "
        "again with a lower training.learning_rate, fewer training.max_updates or more pairs"
    )
    better = SetScore("test", "trained", 50, scores, (tests[0], SignificanceTest("chrf++", "bootstrap", 1.41, 0.01)))
    assert not _worse_note([better])
