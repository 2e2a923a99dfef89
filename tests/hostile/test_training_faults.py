"""Faults during training: losses that are not finite, spikes, a full disk, signals, kill -9, too little memory.

The full campaign is ``python -m benchmarks.training_campaign``; this is its small version for CI.
"""

import json
import math
import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.bundle.verified_folder import verify
from dragoman.errors import TrainingError
from dragoman.training.checkpoint import CheckpointStore
from dragoman.training.train_state import DivergenceMonitor
from testkit.tiny_project import EventRecorder, Killed, Stop, Stopper, tiny_project, tiny_training, train_tiny
from testkit.training_faults.process_start import CommandLine, ForkServer, fork_server
from testkit.training_faults.project import VARIANTS
from testkit.training_faults.run_differences import differences
from testkit.training_faults.runs import Reference, Run, train_reference
from testkit.training_faults.trials import Row, disk_trials, kill_trials, small_disk, stop_trials
from tests.hostile.injected_faults import KINDS, SPIKE, poison, starve

MODEL = "luong2015-desk"
ONE_BATCH = ("training.micro_batches=1", "training.batch_tokens=64", "training.validate_every=1000")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip fsync in this process: some tests save after every update."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def one_batch_an_update(*overrides: str):
    return tiny_training(MODEL, *ONE_BATCH, *overrides)


def saved(run: Path, step: int, name: str) -> str:
    """The SHA-256 of a file of a checkpoint."""
    files = verify(run / "checkpoints" / f"step_{step}")["files"]
    return str(files[name]["sha256"])


def weights_are_finite(run: Path) -> bool:
    checkpoints = CheckpointStore(run / "checkpoints")
    last = checkpoints.open(checkpoints.steps()[-1])
    tensors = [*last.weights().values(), *last.optimizer().values()]
    return all(bool(tensor.isfinite().all()) for tensor in tensors)


# ------------------------------------------------------------------------------------------------- NaN and its kin


def scattered(count: int, updates: int) -> dict[int, str]:
    """Bad batches, alone or two in a row, never three."""
    draw, place = random.Random(3), 2
    bad: dict[int, str] = {}
    while len(bad) < count:
        for number in range(place, place + min(draw.randint(1, 2), count - len(bad))):
            bad[number] = draw.choice(KINDS)
        place = max(bad) + 2
    assert max(bad) < updates
    return bad


def test_fifty_bad_updates_do_not_reach_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    updates = 90
    bad = scattered(50, updates)
    settings = (f"training.max_updates={updates}", "training.checkpoint_every=1", "training.keep_last=100")
    config = one_batch_an_update(*settings, "training.ema_decay=0.9")
    poison(monkeypatch, config, bad)
    events = EventRecorder()
    train_tiny(config, tmp_path / "run", callbacks=[events])
    assert {moment.update for moment in events.moments if moment.skipped} == {1 + number for number in bad}
    assert not any("rolled back" in note for note in events.notes)
    for update in range(1, updates + 1):
        same = [
            saved(tmp_path / "run", update, name) == saved(tmp_path / "run", update - 1, name)
            for name in ("weights.safetensors", "optimizer.safetensors", "average.safetensors")
        ]
        assert same == [update - 1 in bad] * 3, update
    assert weights_are_finite(tmp_path / "run")


def test_without_the_monitor_bad_updates_change_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = one_batch_an_update()
    poison(monkeypatch, config, {4: "nan"})
    monkeypatch.setattr(DivergenceMonitor, "skip_reason", lambda *_: "")
    with pytest.raises(Killed):  # before a validation
        train_model(
            check_training(config, tiny_project().folder, tmp_path / "run"), callbacks=[Stopper(Stop(8, "killed"))]
        )
    assert not weights_are_finite(tmp_path / "run")


def test_a_bad_part_makes_the_whole_update_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = tiny_training(MODEL)
    poison(monkeypatch, config, {7: "nan"})
    events = EventRecorder()
    train_tiny(config, tmp_path / "run", callbacks=[events])
    assert [moment.update for moment in events.moments if moment.skipped] == [4]
    assert "update 4 was skipped: the loss is nan (batches 6 to 7)" in events.notes


def test_a_spike_is_skipped_once_the_mean_has_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = one_batch_an_update("training.max_updates=112", "training.checkpoint_every=1", "training.keep_last=200")
    poison(monkeypatch, config, {105: SPIKE, 106: SPIKE, 109: SPIKE})
    events = EventRecorder()
    train_tiny(config, tmp_path / "run", callbacks=[events])
    skipped = [moment.update for moment in events.moments if moment.skipped]
    assert skipped == [106, 107, 110]
    for update in skipped:
        name = "weights.safetensors"
        assert saved(tmp_path / "run", update, name) == saved(tmp_path / "run", update - 1, name)


def test_three_in_a_row_roll_back_and_leave_their_window_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = one_batch_an_update("training.max_updates=14", "training.checkpoint_every=4")
    poison(monkeypatch, config, {9: "nan", 10: "inf", 11: "gradient"})
    events = EventRecorder()
    train_tiny(config, tmp_path / "run", callbacks=[events])
    assert [moment.update for moment in events.moments] == [*range(1, 13), *range(9, 15)]
    assert [note for note in events.notes if "skipped" in note] == [
        f"update {update} was skipped: {why} (batches {update - 1} to {update - 1})"
        for update, why in ((10, "the loss is nan"), (11, "the loss is inf"), (12, "the norm of the gradient is nan"))
    ]
    assert "rolled back to update 8; the batches of the 4 updates after it are not used again" in events.notes
    state = CheckpointStore(tmp_path / "run" / "checkpoints").open(14).state
    assert state["loader"]["number"] == 18  # four of them were left out
    assert weights_are_finite(tmp_path / "run")


@pytest.mark.parametrize("every", [1, 2, 4])
def test_bad_for_good_is_an_error_that_says_what_to_do(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = one_batch_an_update("training.max_updates=60", f"training.checkpoint_every={every}")
    poison(monkeypatch, config, dict.fromkeys(range(5, 60), "nan"))
    events = EventRecorder()
    with pytest.raises(TrainingError, match=r"training must not diverge, .*; .*training\.learning_rate"):
        train_tiny(config, tmp_path / "run", callbacks=[events])
    assert len([note for note in events.notes if "rolled back" in note]) == 3
    assert weights_are_finite(tmp_path / "run")


WINDOW = {9: "nan", 10: "inf", 11: "nan"}
AROUND_A_ROLLBACK = [
    *(pytest.param([Stop(update, "killed")], id=f"killed after {update}") for update in (8, 9, 10, 11, 12)),
    *(pytest.param([Stop(update)], id=f"asked after {update}") for update in (8, 9, 10, 11, 12, 13)),
    pytest.param([Stop(10), Stop(11), Stop(13, "killed")], id="asked twice, then killed"),
]


@pytest.fixture(scope="module")
def rolled_back(tmp_path_factory) -> Path:
    run: Path = tmp_path_factory.mktemp("rollback") / "whole"
    config = one_batch_an_update("training.max_updates=14", "training.checkpoint_every=4")
    with pytest.MonkeyPatch.context() as patch:
        poison(patch, config, WINDOW)
        train_tiny(config, run)
    return run


@pytest.mark.parametrize("stops", AROUND_A_ROLLBACK)
def test_stops_around_a_rollback_change_nothing(
    stops: list[Stop], rolled_back: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    config = one_batch_an_update("training.max_updates=14", "training.checkpoint_every=4")
    poison(monkeypatch, config, WINDOW)
    train_tiny(config, tmp_path / "run", stops=stops)
    assert differences(tmp_path / "run", rolled_back) == []


# ------------------------------------------------------------------------------------------------- too little memory


@pytest.mark.parametrize("name", [MODEL, "vaswani2017-desk"])
def test_batches_too_large_for_memory_are_split(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = tiny_training(name)
    whole, split = EventRecorder(), EventRecorder()
    train_tiny(config, tmp_path / "whole", callbacks=[whole])
    starve(monkeypatch, 100)
    train_tiny(config, tmp_path / "split", callbacks=[split])
    assert any(note.startswith("out of memory: batches are now processed in parts") for note in split.notes)
    assert len(whole.moments) == len(split.moments) == 12
    for one, other in zip(whole.moments, split.moments, strict=True):
        # Adam's first steps are as long for a small gradient as for a large one: rounding grows from update to update.
        assert math.isclose(one.loss, other.loss, rel_tol=0, abs_tol=1e-6 if one.update <= 2 else 1e-3)
        assert one.tokens == other.tokens


def test_a_pair_too_large_for_memory_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    starve(monkeypatch, 2)
    with pytest.raises(TrainingError, match=r"one pair does not fit into memory: CUDA out of memory"):
        train_tiny(tiny_training(MODEL), tmp_path / "run")


def test_other_errors_are_not_taken_for_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from dragoman.training import step

    def broken(*_: object) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(step, "objective", broken)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        train_tiny(tiny_training(MODEL), tmp_path / "run")


# --------------------------------------------------------------------------------------- kill -9, signals, full disks


def silent(_: Row) -> None:
    """No callback."""


@pytest.fixture(scope="module")
def start() -> Iterator[ForkServer]:
    with fork_server() as started:
        yield started


@pytest.fixture(scope="module")
def references(start: ForkServer, once_per_run: Callable[[str, Callable[[Path], object]], Path]) -> list[Reference]:
    """Undisturbed runs, trained once per test run."""

    def runs(folder: Path) -> list[Run]:
        settings = [[*variant, "training.max_updates=60"] for variant in VARIANTS.values()]
        return [Run(tiny_project(), folder / str(number), each) for number, each in enumerate(settings)]

    def build(folder: Path) -> None:
        folder.mkdir()
        found = [train_reference(run, start) for run in runs(folder)]
        (folder / "seconds.json").write_text(json.dumps([(each.startup, each.training) for each in found]))

    folder = once_per_run("training-references", build)
    seconds = json.loads((folder / "seconds.json").read_text())
    return [Reference(run, *times) for run, times in zip(runs(folder), seconds, strict=True)]


@pytest.mark.slow
def test_25_random_kills(references: list[Reference], start: ForkServer, tmp_path: Path):
    row = kill_trials(references, start, tmp_path, 25, 1, silent)
    assert row.failures == []
    assert row.trials == 25
    assert row.where["a save"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["forget-optimizer", "forget-place"])
def test_the_kills_find_a_planted_fault(fault: str, references: list[Reference], tmp_path: Path):
    """On a busy machine all kills of a round may come before the first checkpoint, where there is nothing to forget."""
    with fork_server(fault) as faulty:
        folders = {seed: tmp_path / str(seed) for seed in range(2, 8)}
        for folder in folders.values():
            folder.mkdir()
        rounds = (kill_trials(references[:1], faulty, folder, 4, seed, silent) for seed, folder in folders.items())
        assert any("differs in" in failure for row in rounds for failure in row.failures)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "trials"), [(signal.SIGTERM, 6), (signal.SIGINT, 2)])
def test_asked_to_stop(
    asked: signal.Signals, trials: int, references: list[Reference], start: ForkServer, tmp_path: Path
):
    row = stop_trials(references, start, tmp_path, trials, 3, silent, asked)
    assert row.failures == []
    assert row.trials == trials


@pytest.mark.long
def test_a_command_line_is_killed_and_asked_to_stop(references: list[Reference], tmp_path: Path):
    for trial in (kill_trials, stop_trials):
        row = trial(references[:1], CommandLine(), tmp_path, 1, 4, silent)
        assert row.failures == []
        assert row.trials == 1


@pytest.mark.long
def test_a_full_disk(references: list[Reference], start: ForkServer, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("this user may not mount a disk")
        row = disk_trials(references[0], start, disk, 4, 5, silent)
        with fork_server("careless-disk") as faulty:
            control = disk_trials(references[0], faulty, disk, 2, 6, silent)
    assert row.failures == []
    assert control.failures


def test_a_disk_without_room_for_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without permission to mount a disk: limit files to 8 KiB from the fifth update on."""
    config = tiny_training("bahdanau2015-desk", "training.log_every=1000", "training.validate_every=1000")
    train_tiny(config, tmp_path / "whole")

    class Full(EventRecorder):
        def on_update(self, moment):
            super().on_update(moment)
            if moment.update == 5:
                resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(TrainingError, match=r"the checkpoint of update 6 cannot be written to .*--resume") as error:
            train_tiny(config, tmp_path / "run", callbacks=[Full()])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "earlier checkpoints are undamaged" in str(error.value)
    assert CheckpointStore(tmp_path / "run" / "checkpoints").steps()[-1] == 3
    assert list((tmp_path / "run" / "checkpoints").glob("*.tmp")) == []
    train_tiny(config, tmp_path / "run")
    assert differences(tmp_path / "run", tmp_path / "whole") == []
