"""Resumed = uninterrupted, bit for bit: weights, optimizer, averages, counters, place in the data, and the log.

Checkpoints are compared by their manifests, byte for byte: a manifest holds the SHA-256 of every file. That the
comparison sees what it must see is shown by leaving one thing after another out of what is restored.
"""

import os
import random
from pathlib import Path

import pytest

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.data.loader import BatchLoader
from dragoman.training import checkpoint
from dragoman.training.train_state import DivergenceMonitor, TrainState
from testkit.presets import MODELS
from testkit.resume_check import verify_resume
from testkit.tiny_project import EventRecorder, Stop, tiny_project, tiny_training, train_tiny
from testkit.training_faults.run_differences import differences

UPDATES = 12
EVERY_KIND = [
    "bahdanau2015-desk",
    "cho2014-desk",
    "luong2015-desk",
    "luong2015-local-m-desk",
    "luong2015-local-p-desk",
    "luong2015-location-desk",
    "sutskever2014-desk",
    "vaswani2017-desk",
    "xu2015-desk",
]
STOPS_A_MODEL = 2

EVERYTHING = ("training.ema_decay=0.9", "training.schedule=cosine", "training.warmup_updates=3")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip fsync: power loss is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def random_stops(name: str, count: int) -> list[Stop]:
    """Ascending, anywhere in the run, of either kind; some at a validation."""
    draw = random.Random(name)
    updates = sorted(draw.sample(range(1, UPDATES), count))
    return [Stop(update, draw.choice(["asked", "killed"]), draw.random() < 0.25) for update in updates]


def check_same(config, tmp_path: Path, stops: list[Stop], **settings) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train_tiny(config, whole)
    train_tiny(config, parts, stops=stops, **settings)
    assert differences(parts, whole) == [], stops


@pytest.mark.parametrize("name", EVERY_KIND)
def test_every_kind_of_model(name: str, tmp_path: Path):
    check_same(tiny_training(name, *EVERYTHING), tmp_path, random_stops(name, STOPS_A_MODEL))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name not in EVERY_KIND])
def test_every_preset_and_variant(name: str, tmp_path: Path):
    check_same(tiny_training(name), tmp_path, random_stops(name, STOPS_A_MODEL))


def test_there_are_at_least_fifty_stops_in_all():
    assert STOPS_A_MODEL * len({*EVERY_KIND, *MODELS}) >= 50
    assert {*EVERY_KIND} <= {*MODELS}


@pytest.mark.parametrize("optimizer", ["adamw", "adadelta", "sgd"])
def test_every_optimizer(optimizer: str, tmp_path: Path):
    config = tiny_training("luong2015-desk", f"training.optimizer={optimizer}", "training.weight_decay=0.01")
    check_same(config, tmp_path, random_stops(optimizer, STOPS_A_MODEL))


@pytest.mark.parametrize(
    "setting", ["training.precision=bf16", "training.reproducible=true", 'training.freeze=["encoder.*"]']
)
def test_other_ways_to_train(setting: str, tmp_path: Path):
    check_same(tiny_training("vaswani2017-desk", setting), tmp_path, random_stops(setting, STOPS_A_MODEL))


def test_stops_at_every_single_update(tmp_path: Path):
    config = tiny_training("xu2015-desk", "training.max_updates=7", "training.ema_decay=0.9")
    check_same(config, tmp_path, [Stop(update) for update in range(1, 7)])


def test_stopped_again_and_again_before_anything_is_saved(tmp_path: Path):
    check_same(tiny_training("luong2015-desk"), tmp_path, [Stop(2, "killed")] * 3)


def test_early_stopping_ends_at_the_same_update(tmp_path: Path):
    patient = ("training.patience=1", "training.validate_every=2", "training.learning_rate=1.0")
    config = tiny_training("luong2015-desk", *patient, "training.max_updates=40", "training.spike=0")
    check_same(config, tmp_path, [Stop(1), Stop(3, "killed")])


def test_a_run_that_is_over_stays_as_it_is(tmp_path: Path):
    config = tiny_training("luong2015-desk", "training.max_updates=3")
    train_tiny(config, tmp_path / "whole")
    events = EventRecorder()
    train_tiny(config, tmp_path / "whole", callbacks=[events])
    train_tiny(config, tmp_path / "once")
    assert not events.moments
    assert differences(tmp_path / "whole", tmp_path / "once") == []


def test_a_longer_run_is_a_shorter_one_that_goes_on(tmp_path: Path):
    longer = tiny_training("luong2015-desk", "training.validate_every=1000")
    shorter = tiny_training("luong2015-desk", "training.validate_every=1000", "training.max_updates=6")
    train_model(check_training(longer, tiny_project().folder, tmp_path / "whole"))
    train_model(check_training(shorter, tiny_project().folder, tmp_path / "parts"))
    train_model(check_training(longer, tiny_project().folder, tmp_path / "parts", resume=True))
    weights = [tmp_path / run / "checkpoints" / "step_12" / "weights.safetensors" for run in ("whole", "parts")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_loader_workers(workers: int, tmp_path: Path):
    config = tiny_training("luong2015-desk")
    check_same(config, tmp_path, [Stop(5, "killed")], loader_workers=workers)


@pytest.mark.slow
def test_users_can_check_it_themselves():
    verdict = verify_resume(tiny_training("xu2015-desk", "training.ema_decay=0.9"), tiny_project().folder)
    assert verdict.differences == ()
    assert verdict.tensors > 30


# ------------------------------------------------------------------------------- what a checkpoint must not leave out


FORGETFUL = ("xu2015-desk", "training.ema_decay=0.9")  # hard attention has a baseline


def forget_optimizer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoint, "load_optimizer_state", lambda model, optimizer, tensors: None)


def forget_weights(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoint, "load_weights", lambda model, weights: None)


def forget_average(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoint, "load_tensors", lambda mine, others: None)


def forget_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchLoader, "resume", lambda loader, state: None)


def forget_guard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DivergenceMonitor, "from_json", classmethod(lambda cls, value: cls()))


def forget_of_standing(name: str, patch: pytest.MonkeyPatch) -> None:
    from_json = TrainState.from_json
    patch.setattr(TrainState, "from_json", lambda value: from_json({**value, name: TrainState().to_json()[name]}))


CONTROLS = {
    "optimizer": forget_optimizer,
    "weights": forget_weights,
    "average": forget_average,
    "place in the data": forget_place,
    "guard": forget_guard,
    "baseline": lambda patch: forget_of_standing("baseline", patch),
    "tokens": lambda patch: forget_of_standing("tokens", patch),
    "update": lambda patch: forget_of_standing("update", patch),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    run: Path = tmp_path_factory.mktemp("controls") / "whole"
    train_tiny(tiny_training(*FORGETFUL), run)
    return run


@pytest.mark.parametrize("what", CONTROLS)
def test_what_is_left_out_is_noticed(what: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = tiny_training(*FORGETFUL)
    CONTROLS[what](monkeypatch)
    train_tiny(config, tmp_path / "run", stops=[Stop(7)])
    assert differences(tmp_path / "run", whole)


def test_a_best_validation_that_is_forgotten_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = tiny_training("luong2015-desk", "training.learning_rate=1e-30")  # so the first one stays the best
    train_tiny(config, tmp_path / "whole")
    forget_of_standing("best", monkeypatch)
    train_tiny(config, tmp_path / "run", stops=[Stop(7)])
    assert any(name.endswith("state.json") for name in differences(tmp_path / "run", tmp_path / "whole"))


def test_the_control_of_the_controls(whole: Path, tmp_path: Path):
    train_tiny(tiny_training(*FORGETFUL), tmp_path / "run", stops=[Stop(7)])
    assert differences(tmp_path / "run", whole) == []
