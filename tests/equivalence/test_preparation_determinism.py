"""Prepared data is a function of files and settings: not of processes, interruptions or the order of doing things."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import Config, to_toml
from dragoman.data.duplicates import decisions
from dragoman.data.preparation import clean_stage
from dragoman.data.worker_processes import Workers
from tests.unit.data.preparation.corpus import config, contents, pairs, write_pairs


def corpora(folder: Path) -> Config:
    """Two corpora with something for each stage to do: bad lines, drops, leaks, duplicates, near-duplicates, splits."""
    rows = pairs(700)
    broken = [("", "leer"), ("same", "same"), rows[1], rows[2], (rows[3][0] + " Yes.", rows[3][1] + " Ja.")]
    first = write_pairs(folder, "a", [*rows[:400], *broken])
    second = write_pairs(folder, "b", [*rows[350:650], *broken])
    (folder / "b.en").write_bytes((folder / "b.en").read_bytes().replace(b"apples", b"appl\xe9s", 1))
    held_out = write_pairs(folder, "val", rows[390:420])
    return config(
        [{"files": first}, {"files": second, "weight": 2.0}],
        validation={"files": held_out},
        test_pairs=10,
        on_bad_line="skip",
        shard_pairs=150,
        cleaning={"near_duplicates": True, "duplicates": ["pair", "source"]},
    )


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are made in the parent process, so this reaches its workers too."""
    monkeypatch.setattr(clean_stage, "_CHUNK_PAIRS", 64)


def prepare(settings: Config, folder: Path, processes: int = 1) -> dict[str, str]:
    return contents(prepare_corpora(settings, folder, processes=processes).folder)


@pytest.mark.slow
def test_one_process_or_several(tmp_path: Path, small_chunks: None):
    found = []
    for processes in (1, 2, 3):
        settings = corpora(tmp_path / "corpus")
        found.append(prepare(settings, tmp_path / "corpus", processes))
        (tmp_path / "corpus").rename(tmp_path / f"done-{processes}")
    assert found[0] == found[1] == found[2]
    assert sum(name.endswith(".arrow") for name in found[0]) > 3, "several shards"


class RepeatingWorkers(Workers):
    """Run each task twice, as if its first worker had been lost before it returned the result."""

    def run(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            work(task)
            yield work(task)


def test_tasks_that_are_run_again_change_nothing(tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "_ROWS_A_TASK", 100)
    settings = corpora(tmp_path / "once")
    expected = prepare(settings, tmp_path / "once")
    corpora(tmp_path / "twice")
    prepared = prepare_corpora(settings, tmp_path / "twice", workers=RepeatingWorkers())
    assert contents(prepared.folder) == expected
    assert not [path.name for path in prepared.folder.rglob("*") if ".drops-" in path.name]


def test_files_of_a_worker_that_was_killed_are_removed(tmp_path: Path):
    settings = corpora(tmp_path)
    expected = prepare(settings, tmp_path)
    (shards,) = (tmp_path / "prepared").glob("shards-*")
    (shards / "done.json").unlink()
    (shards / "train-00000.json.0123456789abcdef.tmp").write_bytes(b"{")
    assert prepare(settings, tmp_path) == expected


def interrupt_at(moment: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Stop the process when it gives its `moment`-th file its name; returns how many were named."""
    named = 0
    replace = Path.replace

    def counted(self: Path, target: Path) -> Path:
        nonlocal named
        named += 1
        if named == moment:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", counted)
    return lambda: named


def test_stopped_at_any_file_and_run_again(tmp_path: Path, small_chunks: None):
    settings = corpora(tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        count = interrupt_at(0, patch)
        expected = prepare(settings, tmp_path / "whole")
        moments = count()
    assert moments > 40
    for moment in sorted(random.Random(1).sample(range(1, moments + 1), 12)):
        folder = tmp_path / str(moment)
        corpora(folder)
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(moment, patch)
            with pytest.raises(KeyboardInterrupt):
                prepare(settings, folder)
        assert prepare(settings, folder) == expected, moment


@pytest.mark.long
def test_killed_at_any_time_and_run_again(tmp_path: Path):
    settings = corpora(tmp_path / "whole")
    expected = prepare(settings, tmp_path / "whole")
    folder = tmp_path / "killed"
    corpora(folder)
    (folder / "dragoman.toml").write_text(to_toml(settings), encoding="utf-8")
    command = [sys.executable, "-m", "dragoman", "prepare", "dragoman.toml", "--processes", "2"]
    moment = random.Random(2)
    kills = 0
    for _ in range(4):
        child = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        try:
            child.wait(timeout=moment.uniform(1.0, 3.0))
        except subprocess.TimeoutExpired:
            kills += 1
            child.kill()  # its workers have to notice by themselves
            child.wait()
            time.sleep(1.0)
    assert kills, "at least one run was stopped before its end"
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert contents(folder / "prepared") == expected
