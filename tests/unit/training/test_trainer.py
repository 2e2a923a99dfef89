"""The training loop: what an update is, when it ends, what it keeps. Resuming is tested in tests/equivalence."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.config import Config
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.models import Model
from dragoman.models.build import build_model
from dragoman.training.callbacks.events import ValidationScores
from dragoman.training.checkpoint import CheckpointStore
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import RewardBaseline, train_step
from dragoman.training.train_state import TrainState
from dragoman.training.trainer import Trainer
from dragoman.training.validator import BestScore, ValidationSet
from dragoman.training.warm_start import freeze
from testkit.tiny_project import EventRecorder, tiny_project, tiny_training

ALONE = ("training.micro_batches=1", "training.validate_every=100", "training.checkpoint_every=100")


def prepared(config: Config) -> PreparedData:
    assert config.data is not None
    return PreparedData.open(tiny_project().folder / config.data.folder)


def built(config: Config) -> Model[Any, Any]:
    tokenizers = prepared(config).tokenizers()
    sizes = (tokenizers["source"].size, tokenizers["target"].size)
    return build_model(config.model, *sizes, seed=config.training.seed)


class ScriptedValidation(ValidationSet):
    """Validations whose losses are known beforehand."""

    def __init__(self, *losses: float) -> None:
        self.losses = iter(losses)

    def evaluate(self, *_: Any) -> tuple[float, ValidationScores]:
        return next(self.losses), ValidationScores()


@contextmanager
def training(
    config: Config, run: Path, model: Model[Any, Any], validation: ValidationSet | None = None
) -> Iterator[tuple[Trainer, EventRecorder]]:
    events = EventRecorder()
    with BatchLoader.from_prepared(prepared(config), config) as loader:
        yield Trainer(config, model, loader, CheckpointStore(run), events, validation=validation), events


def weights(model: Model[Any, Any]) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("name", ["luong2015-desk", "xu2015-desk", "vaswani2017-desk"])
def test_alone_with_one_batch_an_update_it_is_the_training_step(name: str, tmp_path: Path):
    config = tiny_training(name, *ALONE, "training.max_updates=10")
    model, other = built(config), built(config)
    with training(config, tmp_path, model) as (run, events):
        run.run()
    optimizer, baseline = build_optimizer(other, config.training), RewardBaseline(config.training.baseline_decay)
    losses = []
    with BatchLoader.from_prepared(prepared(config), config) as loader:
        for update, batch in enumerate(islice(loader, 10), start=1):
            made = train_step(other, optimizer, batch, config.training, update, baseline)
            baseline = made.baseline
            losses.append(made.loss)
    assert [event.loss for event in events.moments] == losses
    ours, theirs = weights(model), weights(other)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_frozen_parameters_keep_their_bits_and_the_others_learn(tmp_path: Path):
    config = tiny_training("luong2015-desk", "training.max_updates=3", "training.weight_decay=0.1")
    model = built(config)
    frozen = freeze(model, ["encoder.*"])
    before = weights(model)
    with training(config, tmp_path, model) as (run, _):
        run.run()
    unchanged = {name for name, value in weights(model).items() if torch.equal(value, before[name])}
    assert unchanged == {*frozen}


def test_patience_ends_it_and_the_best_is_kept(tmp_path: Path):
    settings = ("training.validate_every=2", "training.checkpoint_every=1", "training.keep_last=2")
    config = tiny_training("luong2015-desk", *settings, "training.patience=3", "training.max_updates=99")
    looks = ScriptedValidation(3.0, 2.0, 2.5, float("nan"), 2.0)
    with training(config, tmp_path, built(config), looks) as (run, events):
        ended = run.run()
    assert (ended.why, ended.update, ended.best_update, ended.best_value) == ("no better", 10, 4, 2.0)
    assert [validation.is_best for validation in events.validations] == [True, True, False, False, False]
    assert CheckpointStore(tmp_path).steps() == [4, 9, 10]
    assert ended.is_complete


def test_without_patience_it_goes_on_and_keeps_the_newest(tmp_path: Path):
    settings = ("training.max_updates=7", "training.checkpoint_every=2", "training.keep_last=2")
    config = tiny_training("luong2015-desk", *settings)
    with training(config, tmp_path, built(config)) as (run, events):
        ended = run.run()
    assert (ended.why, ended.update, ended.best_update) == ("finished", 7, None)
    assert CheckpointStore(tmp_path).steps() == [6, 7]
    assert [event.update for event in events.moments] == list(range(1, 8))
    assert ended.tokens == sum(event.tokens for event in events.moments)


@pytest.mark.parametrize("epochs", [1, 2])
def test_it_ends_after_so_many_epochs(epochs: int, tmp_path: Path):
    config = tiny_training("luong2015-desk", *ALONE, f"training.max_epochs={epochs}", "training.max_updates=9999")
    batches = 0
    for batch in prepared(config).plan(config).batches():
        if batch.epoch == epochs:
            break
        batches += 1
    with training(config, tmp_path, built(config)) as (run, _):
        assert run.run().update == batches


def test_what_was_finished_is_not_begun_again(tmp_path: Path):
    config = tiny_training("luong2015-desk", "training.max_updates=3")
    with training(config, tmp_path, built(config)) as (run, _):
        run.run()
    with training(config, tmp_path, built(config)) as (run, events):
        assert run.resume()
        assert run.run().update == 3
        assert events.moments == []


def test_a_resumed_run_starts_with_the_best_of_its_checkpoint(tmp_path: Path):
    config = tiny_training("luong2015-desk", "training.validate_every=2", "training.max_updates=6")
    with training(config, tmp_path, built(config), ScriptedValidation(3.0, 2.0, 2.5)) as (run, events):
        run.run()
    (first,) = events.starts
    assert (first.best_update, first.best_value, first.metric) == (None, None, "loss")
    with training(config, tmp_path, built(config), ScriptedValidation(9.0)) as (run, events):
        assert run.resume()
        run.run()
    (resumed,) = events.starts
    assert (resumed.best_update, resumed.best_value, resumed.metric) == (4, 2.0, "loss")


def test_without_a_checkpoint_there_is_nothing_to_resume(tmp_path: Path):
    config = tiny_training("luong2015-desk")
    with training(config, tmp_path, built(config)) as (run, _):
        assert not run.resume()


def test_progress_is_plain_values():
    progress = TrainState(update=3, tokens=40, last_validated=2, baseline=1.5, best=BestScore(2, 0.5))
    assert TrainState.from_json(progress.to_json()) == progress
    assert TrainState.from_json(TrainState().to_json()) == TrainState()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch reads it at a graph break
@pytest.mark.parametrize(
    "backend", [pytest.param("aot_eager", marks=pytest.mark.long), pytest.param("inductor", marks=pytest.mark.measure)]
)  # inductor takes over a minute to compile
def test_compiled_training_gives_the_same_losses(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compile_module = torch.nn.Module.compile
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda self, *args, **kwargs: compile_module(self, *args, backend=backend, **kwargs)
    )
    losses = []
    for compiled in ("false", "true"):
        settings = ("training.max_updates=2", f"training.compile={compiled}")
        config = tiny_training("vaswani2017-desk + model.encoder_layers=1 + model.decoder_layers=1", *settings)
        with training(config, tmp_path / compiled, built(config)) as (run, events):
            run.run()
        losses.append([event.loss for event in events.moments])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
