"""The campaign's own parts: what it compares, what it counts, what it writes."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.promise_tests import PROMISES
from benchmarks.promise_tests import page as promise_page
from benchmarks.training_campaign import __main__ as campaign
from benchmarks.training_campaign.suites import SUITES, count
from dragoman.config import load_config
from testkit.tiny_project import tiny_project, tiny_training, train_tiny
from testkit.training_faults import trials
from testkit.training_faults.process_start import CommandLine
from testkit.training_faults.project import VARIANTS, make_project
from testkit.training_faults.run_differences import curve, differences
from testkit.training_faults.runs import Reference, Run, interrupted_phase
from testkit.training_faults.trials import OutOfTime, Row


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    config = tiny_training("luong2015-desk", "training.max_updates=2")
    for name in ("one", "other"):
        train_tiny(config, folder / name)
    return folder / "one", folder / "other"


def test_the_same_run_twice_is_the_same(runs: tuple[Path, Path]):
    assert differences(*runs) == []


def test_the_log_is_compared_but_for_its_times(runs: tuple[Path, Path]):
    one, other = runs
    path = other / "log.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if '"kind": "update"' in line)
    entry = json.loads(lines[number])
    before = curve(other)
    path.write_text("\n".join([*lines[:number], json.dumps({**entry, "time": "x"}), *lines[number + 1 :]]) + "\n")
    assert curve(other) == before
    path.write_text("\n".join([*lines[:number], json.dumps({**entry, "loss": 1.0}), *lines[number + 1 :]]) + "\n")
    assert differences(one, other) == ["log.jsonl"]
    path.write_text("\n".join(lines) + "\n")


def test_another_last_checkpoint_is_a_difference(runs: tuple[Path, Path], tmp_path: Path):
    assert differences(runs[0], tmp_path) == ["the last checkpoint: [2] and []"]


def test_a_project_is_the_same_each_time(tmp_path: Path):
    again = make_project(tmp_path / "again").folder
    for name in ("train.en", "train.de", "dragoman.toml"):
        assert (again / name).read_bytes() == (tiny_project().folder / name).read_bytes()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_valid_configuration(name: str):
    config = load_config(tiny_project().config, VARIANTS[name])
    assert config.training.log_every == 1
    assert config.training.checkpoint_every == 5


def test_where_a_kill_landed(tmp_path: Path):
    run = Run(tiny_project(), tmp_path / "run")
    assert interrupted_phase(run, trained=False) == "start-up"
    run.checkpoints.mkdir(parents=True)
    log = [{"kind": "update", "update": update} for update in (15, 16)]
    (run.folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log) + '{"kind": "no')
    assert interrupted_phase(run, trained=True) == "a validation"
    (run.checkpoints / "step_15.tmp").mkdir()
    assert interrupted_phase(run, trained=True) == "a save"
    assert run.newest() == -1


def test_tests_are_counted():
    report = ET.fromstring(
        "<testsuites><testsuite><testcase name='b'/><testcase classname='a' name='c'><failure/></testcase>"
        "<testcase name='d'><skipped/></testcase></testsuite></testsuites>"
    )
    row = Row("a promise")
    count(row, report)
    assert (row.trials, row.failures, row.where["skipped"]) == (2, ["a::c"], 1)


def test_every_promise_has_tests(root: Path):
    suites = (*SUITES, *PROMISES)
    assert len({suite.promise for suite in suites}) == len(suites)
    assert all((root / test).exists() for suite in suites for test in suite.tests)


def test_the_page_of_the_added_promises_has_their_failures():
    row = {"promise": "linear time", "trials": 3, "where": {"skipped": 1}, "failures": ["a::b"], "seconds": 1.0}
    text = promise_page(
        [row | {"control": "", "date": "2026-11-16", "tests": "`a.py`"}], "python -m benchmarks.promise_tests"
    )
    assert "| linear time | 3 | 1 | **1** | 1 | – | 2026-11-16 | `a.py` |" in text
    assert "- linear time: a::b" in text


def test_the_page_has_every_row_of_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(campaign, "RESULTS", tmp_path)
    rows = [
        Row("kill -9", trials=3, runs=1, where=Counter({"a save": 2}), control="a fault: found", planned=3),
        Row("SIGTERM", trials=2, failures=["exit code 1"], planned=50),
    ]
    for row in rows:
        text = campaign.page(campaign.keep(row, f"the command of {row.promise}", "page"))
    assert "| kill -9 | 3 | 1 | **0** |" in text
    assert "| SIGTERM | 2 of 50 | – | **1** |" in text
    assert "| 2 in a save | a fault: found |" in text
    assert "- SIGTERM: exit code 1" in text
    assert "- kill -9: `the command of kill -9`" in text


def test_trials_that_run_out_of_time_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compared = []
    monkeypatch.setattr(trials, "_end", lambda run, *_: compared.append(run.folder.name))
    row = Row("kill -9")

    def disturb(run: Run, reference: Reference) -> bool:
        row.trials += 1
        if row.trials == 2:
            raise OutOfTime
        return False

    reference = Reference(Run(tiny_project(), tmp_path / "reference"), 1.0, 1.0)
    trials._until_the_end([reference], CommandLine(), tmp_path, 5, row, disturb)
    assert row.trials == 2
    assert compared == ["kill -90"]  # the run that was disturbed last is compared
