"""The number of threads follows the measured speed, and comparisons cost little time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from dragoman.config.training import TrainingConfig
from dragoman.errors import ConfigError
from dragoman.training import thread_controller
from dragoman.training.checkpoint import CheckpointStore
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.thread_controller import ThreadController, build_thread_controller, thread_choices
from testkit.tiny_project import EventRecorder, Stop, tiny_training, train_tiny
from testkit.training_faults.run_differences import weights_hash

TOKENS = 1000  # per update


class Machine:
    """A clock, and the seconds that an update takes with each number of threads under the present load."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.threads = 2
        self.controller = ThreadController(
            2, [2, 1], clock=lambda: self.now, set_threads=lambda number: setattr(self, "threads", number)
        )
        self.compared = 0.0
        self.comparisons = 0

    def compute(self) -> None:
        self.now += self.seconds[self.threads]

    def train(self, seconds: float) -> float:
        """Train for some time; return the tokens per second, comparisons included."""
        start, updates = self.now, 0
        while self.now < start + seconds:
            before = self.now
            self.compute()
            updates += 1
            self.controller.record(TOKENS, self.now - before)
            if self.controller.is_due:
                before = self.now
                self.controller.compare(self.compute)
                self.compared += self.now - before
                self.comparisons += 1
            assert self.threads == self.controller.threads
        return updates * TOKENS / (self.now - start)

    def best(self) -> float:
        return TOKENS / min(self.seconds.values())


QUIET = {2: 0.1, 1: 0.196}  # measured on two cores with a Transformer of width 128, as are the next
BUSY = {2: 0.33, 1: 0.16}
BUSIER = {2: 1.5, 1: 0.2}


def test_a_quiet_machine_keeps_all_threads():
    machine = Machine(QUIET)
    assert machine.train(600) > 0.97 * machine.best()
    assert machine.threads == 2


@pytest.mark.parametrize("load", [BUSY, BUSIER])
def test_a_busy_machine_gets_one_thread_within_seconds(load: dict[int, float]):
    machine = Machine(load)
    machine.train(12)
    assert machine.threads == 1
    assert machine.train(120) > 0.95 * machine.best()


@pytest.mark.parametrize("load", [BUSY, BUSIER])
def test_a_load_that_comes_and_goes_is_followed(load: dict[int, float]):
    machine = Machine(QUIET)
    machine.train(60)
    machine.seconds = load
    machine.train(40)
    assert machine.threads == 1
    assert machine.train(300) > 0.9 * machine.best()
    machine.seconds = QUIET
    machine.train(110)
    assert machine.threads == 2
    assert machine.train(300) > 0.95 * machine.best()


def test_a_load_that_changes_all_the_time_costs_little():
    machine = Machine(QUIET)
    for _ in range(60):
        machine.seconds = BUSY if machine.seconds is QUIET else QUIET
        machine.train(4)
    assert machine.compared < 0.1 * machine.now


def test_equal_speeds_change_nothing():
    machine = Machine({2: 0.105, 1: 0.1})
    machine.train(300)
    assert machine.threads == 2


def test_a_short_run_compares_nothing():
    machine = Machine(BUSY)
    machine.train(1.5)
    assert machine.comparisons == 0


def test_slow_updates_are_compared_after_the_first():
    machine = Machine({2: 20.0, 1: 5.0})
    machine.train(20)
    assert (machine.threads, machine.comparisons) == (1, 1)


def test_choices_are_halves():
    assert thread_choices(1) == [1]
    assert thread_choices(2) == [2, 1]
    assert thread_choices(12) == [12, 6, 3, 1]


def test_a_checkpoint_continues_with_its_number():
    machine = Machine(QUIET)
    machine.controller.resume(1)
    assert machine.threads == 1
    machine.controller.resume(16)  # of a larger machine
    machine.controller.resume(None)
    assert machine.threads == machine.controller.threads == 1


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    ("setting", "size"), [({"threads": 2}, 1), ({"reproducible": True}, 1), ({"compile": True}, 1), ({}, 2)]
)
def test_a_fixed_number_stays(setting: dict[str, object], size: int):
    controller = build_thread_controller(TrainingConfig.model_validate(setting), ProcessGroup(size=size))
    for _ in range(100):
        controller.record(1, 1.0)
        assert not controller.is_due


def test_reproducible_training_has_one_thread():
    with pytest.raises(
        ConfigError, match=r"training\.threads must be 0 or 1 where training\.reproducible is true, got 2"
    ):
        TrainingConfig.model_validate({"reproducible": True, "threads": 2})


@pytest.mark.usefixtures("two_threads")
def test_comparisons_do_not_change_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train_tiny(tiny_training("vaswani2017-desk", "training.threads=2"), tmp_path / "fixed")
    for name, value in {"_FIRST": 0.0, "_LONGEST": 0.0, "_COMPARISON": 0.0, "_GAIN": float("inf")}.items():
        monkeypatch.setattr(thread_controller, name, value)
    compared: list[float] = []
    compare = ThreadController.compare

    def recorded(self: ThreadController, compute: Callable[[], None]) -> float:
        compared.append(compare(self, compute))
        return compared[-1]

    monkeypatch.setattr(ThreadController, "compare", recorded)
    train_tiny(tiny_training("vaswani2017-desk", "training.threads=0"), tmp_path / "compared")
    assert len(compared) >= 10
    assert weights_hash(tmp_path / "compared") == weights_hash(tmp_path / "fixed")


@pytest.mark.usefixtures("two_threads")
def test_a_change_is_reported_recorded_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"_FIRST": 0.0, "_LONGEST": 1e9, "_SHARE": 1e-9, "_COMPARISON": 0.0, "_GAIN": 0.0}.items():
        monkeypatch.setattr(thread_controller, name, value)
    monkeypatch.setattr(ThreadController, "_round", lambda self, compute: {2: 2.0, 1: 1.0})
    recorder = EventRecorder()
    config = tiny_training("vaswani2017-desk", "training.threads=0")
    train_tiny(config, tmp_path / "run", stops=[Stop(6)], callbacks=[recorder])
    (note,) = [text for text in recorder.notes if "thread" in text]
    assert note.startswith("training continues with 1 thread instead of 2, 2.0 times as fast")
    lines = (tmp_path / "run/log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [entry["update"] for entry in map(json.loads, lines) if entry.get("text") == note] == [1]
    checkpoints = CheckpointStore(tmp_path / "run/checkpoints")
    assert [checkpoints.open(step).state["threads"] for step in checkpoints.steps()[-2:]] == [1, 1]
    assert torch.get_num_threads() == 2  # of the process that called training
