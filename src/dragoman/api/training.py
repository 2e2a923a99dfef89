"""From prepared data to a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from dragoman.api.bundling import best_weights, write_trained
from dragoman.api.held_out import HeldOut, SetScore, held_out_sets, score_sets
from dragoman.api.scoring import TranslationScorer
from dragoman.bundle import Bundle
from dragoman.config import Config, to_toml
from dragoman.data.batch import Batch
from dragoman.data.loader import Loader
from dragoman.data.preparation.manifest import Prepared
from dragoman.data.preparation.start import open_start, with_start
from dragoman.errors import ConfigError
from dragoman.files import whole
from dragoman.models.build import build_model
from dragoman.models.load import load_model
from dragoman.models.protocol import Model
from dragoman.text import Tokenizer
from dragoman.training.checkpoint import Checkpoints
from dragoman.training.loop import Training
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
"""Settings that a run may change when it goes on: they decide how long, and what is kept, not what is computed."""


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
    with joined() as world, _loader(prepared, config, world, loader_workers) as loader:
        checkpoints = Checkpoints(run / "checkpoints")
        _check_run(checkpoints, config, resume=resume)
        base = open_start(config, folder)
        config = with_start(config, base)
        model = _model(config, tokenizers, base)
        # Read now: a fault in a test set must not show after hours of training.
        sets = held_out_sets(prepared, config, folder, tokenizers) if world.is_first else []
        facts = {
            "pairs": {name: split["rows"] for name, split in prepared.manifest["splits"].items()},
            "fingerprint": loader.plan.fingerprint,
            "start": None if base is None else base.digest,
        }
        watching = _watching(run, config, facts, observers, world)
        validation = _validation(prepared, config, tokenizers, world)
        training = Training(config, model, loader, checkpoints, watching, world=world, validation=validation)
        if resume:
            training.resume()
        ended = training.run()
        trained = Trained(ended, run)
        if world.is_first and ended.is_complete:
            weights, steps = best_weights(checkpoints, config, ended)
            scores = _scores(config, weights, tokenizers, base, sets)
            bundle = write_trained(config, run, weights, steps, ended, tokenizers, scores)
            trained = Trained(ended, run, bundle, tuple(scores))
        world.first_says()  # the others wait until the bundle is there
    return trained


def _prepared(config: Config, folder: Path) -> Prepared:
    if config.data is None:
        raise ConfigError(
            "the configuration must have a [data] section, got none; dragoman new writes one for two text files"
        )
    return Prepared.open(folder / config.data.folder)


def _loader(prepared: Prepared, config: Config, world: World, workers: int) -> Loader:
    return Loader.of(prepared, config, rank=world.rank, world=world.size, workers=workers)


def _check_run(checkpoints: Checkpoints, config: Config, *, resume: bool) -> None:
    """See that a new run does not overwrite another, and that one that goes on is the same run."""
    steps = checkpoints.steps()
    if steps and not resume:
        raise ConfigError(
            f"{checkpoints.folder.parent} must be a new folder, got a run with a checkpoint at update {steps[-1]}; go "
            "on with --resume, or name another folder with --output"
        )
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
    run.mkdir(parents=True, exist_ok=True)
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


def _scores(
    config: Config,
    weights: Mapping[str, Tensor],
    tokenizers: dict[str, Tokenizer],
    base: Bundle | None,
    sets: Sequence[HeldOut],
) -> list[SetScore]:
    """What the bundle will score on held-out sets, and what the model that training began with scores there."""
    if not config.training.validation_sentences:
        return []
    model = build_model(config.model, tokenizers["source"].size, tokenizers["target"].size)
    load_weights(model, weights)
    found = score_sets(model, tokenizers, config, sets, called="new")
    if base is not None:
        found += score_sets(load_model(base), base.tokenizers(), base.config, sets, called="before")
    return found
