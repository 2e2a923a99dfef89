"""From prepared data to a bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.api.bundling import best_weights, write_trained
from dragoman.api.held_out import HeldOut, SetScore, held_out_sets, score_set
from dragoman.api.scoring import TranslationScorer
from dragoman.bundle import Bundle
from dragoman.config import Config, to_toml
from dragoman.data.batch import Batch
from dragoman.data.loader import Loader
from dragoman.data.preparation.manifest import Prepared
from dragoman.data.preparation.start import open_start, with_start
from dragoman.errors import ConfigError, DataError
from dragoman.files import clear_drafts, locked, whole
from dragoman.models.build import build_model
from dragoman.models.load import load_model
from dragoman.models.protocol import Model
from dragoman.stopping import Stopped, StopSignal
from dragoman.text import Tokenizer
from dragoman.training.checkpoint import Checkpoints
from dragoman.training.loop import Training, check_divides
from dragoman.training.progress import Ended, Observer, Observers
from dragoman.training.record import Record
from dragoman.training.start import check_same_model, freeze, start_weights
from dragoman.training.tensors import load_weights
from dragoman.training.validation import Validation
from dragoman.training.world import World, joined

__all__ = ["Trained", "train"]

_FREE = {
    "max_updates",
    "max_epochs",
    "patience",
    "validate_every",
    "validation_sentences",
    "checkpoint_every",
    "keep_last",
    "average_last",
    "log_every",
    "sharded",
    "recompute",
}
"""Settings that a run may change when it goes on: how long it lasts, what it keeps, how often it looks."""

_FILES = ("dragoman.toml", "log.jsonl", "run.json", "bundle")
"""What a run writes: a new one must not find any of it."""


@dataclass(frozen=True)
class Trained:
    """How a training ended, with its bundle and scores; without, where it was stopped, or not in the first process."""

    ended: Ended
    run: Path
    bundle: Bundle | None = None
    scores: tuple[SetScore, ...] = ()


def train(
    config: Config,
    folder: Path,
    *,
    run: Path,
    resume: bool = False,
    observers: Sequence[Observer] = (),
    loader_workers: int = 0,
) -> Trained:
    """Train on the prepared data of a configuration, and write a bundle into the run's folder.

    Relative paths in the configuration start at `folder`. With `resume` a run goes on from its newest checkpoint, or
    begins if it has none. Several processes train together when a launcher, such as torchrun, starts them.
    """
    prepared = _prepared(config, folder)
    tokenizers = prepared.tokenizers()
    with ExitStack() as held:
        world = held.enter_context(joined())
        if config.training.reproducible:
            held.enter_context(_one_thread())
        check_divides(config.training.micro_batches, world.size)
        checkpoints = Checkpoints(run / "checkpoints")
        world.first_does(lambda: _take(run, folder, checkpoints, config, held, resume=resume))
        base = open_start(config, folder)
        config = with_start(config, base)
        model = _model(config, tokenizers, base)
        # Read now: a fault in a test set must not show after hours of training.
        sets = world.first_does(lambda: held_out_sets(prepared, config, folder, tokenizers))
        loader = held.enter_context(_loader(prepared, config, world, loader_workers))
        watching = _watching(run, config, _facts(prepared, loader, base), observers, world)
        validation = _validation(prepared, config, tokenizers, world)
        training = Training(config, model, loader, checkpoints, watching, world=world, validation=validation)
        if resume:
            training.resume()
        trained = Trained(training.run(), run)
        if trained.ended.is_complete:
            finish = _Finish(config, tokenizers, base, sets, checkpoints, training.signal, watching, world.device)
            trained = world.first_does(lambda: finish(trained)) or trained
        return trained


def _prepared(config: Config, folder: Path) -> Prepared:
    if config.data is None:
        raise ConfigError(
            "the configuration must have a [data] section, got none; dragoman new writes one for two text files"
        )
    return Prepared.open(folder / config.data.folder)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums whose order does not depend on the number of cores; on a GPU, kernels that keep to one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(torch.cuda.is_available())
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(False)


def _loader(prepared: Prepared, config: Config, world: World, workers: int) -> Loader:
    return Loader.of(prepared, config, rank=world.rank, world=world.size, workers=workers)


def _take(run: Path, folder: Path, checkpoints: Checkpoints, config: Config, held: ExitStack, *, resume: bool) -> None:
    """Take hold of the run's folder; a new run does not overwrite anything, and one that goes on is the same run."""
    steps = checkpoints.steps()
    if steps and not resume:
        raise ConfigError(
            f"{run} must be a new folder, got a run with a checkpoint at update {steps[-1]}; go on with --resume, or "
            "name another folder with --output"
        )
    if run.resolve() == folder.resolve():
        raise ConfigError(
            f"{run} must not be the folder of the configuration itself, got it; name another with --output"
        )
    if not resume and (there := [name for name in _FILES if (run / name).exists()]):
        raise ConfigError(
            f"{run} must be a new folder, got one with {there[0]} in it; name another folder with --output"
        )
    run.mkdir(parents=True, exist_ok=True)
    if not held.enter_context(locked(run / ".lock")):
        raise ConfigError(f"{run} must be used by one training at a time, got another at work there; wait for it")
    for name in _FILES:
        clear_drafts(run / name)
    if resume:
        _check_same(checkpoints, config)


def _check_same(checkpoints: Checkpoints, config: Config) -> None:
    checkpoint = checkpoints.latest(lambda _: None)
    if checkpoint is None:
        return
    before, now = (_computed(each) for each in (checkpoint.config(), config))
    if differ := sorted(name for name in {*before, *now} if before.get(name) != now.get(name)):
        raise ConfigError(
            f"a run that goes on must have the settings it began with, got others for {', '.join(differ)}; undo that, "
            "or begin a new run with --output"
        )


def _computed(config: Config) -> dict[str, Any]:
    """The settings that decide what is computed, by their dotted names."""
    training = config.training.model_dump(exclude=_FREE)
    if config.training.schedule == "cosine":
        training["max_updates"] = config.training.max_updates  # the rate of every update depends on the end
    if config.training.stop_on != "loss":
        training["validation_sentences"] = config.training.validation_sentences  # scores of others do not compare
    model = config.model.model_dump()
    return {f"training.{name}": value for name, value in training.items()} | {
        f"model.{name}": value for name, value in model.items()
    }


def _model(config: Config, tokenizers: dict[str, Tokenizer], base: Bundle | None) -> Model[Any, Any]:
    if base is not None:
        check_same_model(base, config.model)
    sizes = (tokenizers["source"].size, tokenizers["target"].size)
    model = build_model(config.model, *sizes, seed=config.training.seed)
    if base is not None:
        start_weights(base, tokenizers, model, config.model)
    freeze(model, config.training.freeze)
    return model


def _watching(
    run: Path, config: Config, facts: dict[str, Any], observers: Sequence[Observer], world: World
) -> Observer:
    """Everybody who watches; processes other than the first are not watched."""
    if not world.is_first:
        return Observers()
    with whole(run / "dragoman.toml") as draft:
        draft.write_text(to_toml(config), encoding="utf-8")
    told = Observers(*observers)
    return Observers(Record(run, config, facts=facts, tell=told.noted), told)


def _validation(
    prepared: Prepared, config: Config, tokenizers: dict[str, Tokenizer], world: World
) -> Validation | None:
    """The validation set, if there is one; only the first process looks at it."""
    if "validation" not in prepared.manifest["splits"]:
        if config.training.stop_on != "loss" or config.training.patience:
            raise ConfigError(
                "the configuration must have a validation set to stop early by it, got none; set data.validation or "
                "data.validation_pairs"
            )
        return None
    if not world.is_first:
        return Validation([], config.training, None)
    shards = prepared.shards("validation")
    planned = takewhile(lambda batch: batch.epoch == 0, prepared.plan(config, "validation").batches())
    batches = [Batch.of_flat(shards.gather(batch.rows), batch.rows) for batch in planned]
    sentences = min(config.training.validation_sentences, len(shards))
    scorer = None
    if sentences:
        rows = np.linspace(0, len(shards) - 1, sentences).astype(np.int64)  # from all of it: it may be sorted
        scorer = TranslationScorer(shards.gather(rows), tokenizers)
    return Validation(batches, config.training, scorer)


def _facts(prepared: Prepared, loader: Loader, base: Bundle | None) -> dict[str, Any]:
    """What run.json says of the data."""
    return {
        "pairs": {name: split["rows"] for name, split in prepared.manifest["splits"].items()},
        "fingerprint": loader.plan.fingerprint,
        "start": None if base is None else base.digest,
    }


@dataclass(frozen=True)
class _Finish:
    """What is left to do when all updates are made: scores, and the bundle. A stop leaves it to the next start."""

    config: Config
    tokenizers: dict[str, Tokenizer]
    base: Bundle | None
    sets: Sequence[HeldOut]
    checkpoints: Checkpoints
    signal: StopSignal
    observer: Observer
    device: torch.device

    def __call__(self, trained: Trained) -> Trained:
        weights, steps = best_weights(self.checkpoints, self.config, trained.ended)
        try:
            with self.signal:
                scores = self._scores(weights) if self.config.training.validation_sentences else []
        except Stopped:
            return replace(trained, ended=replace(trained.ended, why=self.signal.asked))
        bundle = write_trained(self.config, trained.run, weights, steps, trained.ended, self.tokenizers, scores)
        return replace(trained, bundle=bundle, scores=tuple(scores))

    def _scores(self, weights: Mapping[str, Tensor]) -> list[SetScore]:
        """What the bundle will score on held-out sets, and what the model that training began with scores there."""
        sizes = (self.tokenizers["source"].size, self.tokenizers["target"].size)
        model = build_model(self.config.model, *sizes)
        load_weights(model, weights)
        found = self._score(model, self.tokenizers, "new")
        if self.base is not None:
            found += self._score(load_model(self.base), self.base.tokenizers(), "before")
        return found

    def _score(self, model: Model[Any, Any], tokenizers: dict[str, Tokenizer], called: str) -> list[SetScore]:
        form = self.config.tokenizer.normal_form
        found = []
        for each in self.sets:
            try:
                found.append(
                    score_set(model.to(self.device), tokenizers, form, each, called=called, check=self.signal.check)
                )
            except DataError as error:  # a sentence that is too long for the model, say: there are other sets
                self.observer.noted(f"{each.name} could not be scored: {error}")
        return found
