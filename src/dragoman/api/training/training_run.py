"""Train a model from a configuration and save it as a model bundle (a folder)."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.api.training.bundle_writer import best_weights, inference_note, trained_adapter, write_trained
from dragoman.api.training.checked_training import CheckedTraining, lock_run
from dragoman.api.training.checkpoint_copies import CheckpointCopies, CopyCheckpoints
from dragoman.api.training.held_out_scores import HeldOutSet, held_out_sets, score_set, translate_set
from dragoman.api.training.translation_scorer import TranslationScorer, direction_validation
from dragoman.bundle import Bundle
from dragoman.bundle.adapter import ADAPTER
from dragoman.bundle.bundle import inherit_inference
from dragoman.bundle.checkpoint_bundle import save_run_tokenizers
from dragoman.config import Config, to_toml
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.preparation.start_bundle import check_same_model, open_start_bundle, with_start_tokenizer
from dragoman.data.saved_test_sets import save_test_sets
from dragoman.engines.directions import has_language_tokens
from dragoman.environment import limit_kernel_caches
from dragoman.errors import DataError
from dragoman.evaluation.results import SetScore
from dragoman.files import atomic_write
from dragoman.models.base import Model
from dragoman.models.build import build_model, load_model
from dragoman.run_files import CHECKPOINTS, PROJECT
from dragoman.stop_signal import StopRequested, StopSignal
from dragoman.text import Tokenizer
from dragoman.training.callbacks.events import (
    CallbackList,
    PluginCallback,
    TrainerCallback,
    TrainingEnded,
    plugin_callbacks,
)
from dragoman.training.callbacks.run_record import RunRecord
from dragoman.training.checkpoint import CheckpointStore, load_weights
from dragoman.training.distributed.process_group import ProcessGroup, join_process_group
from dragoman.training.dry_run import with_precision
from dragoman.training.thread_controller import single_thread
from dragoman.training.trainer import Trainer
from dragoman.training.validator import DirectionValidationSets, ValidationSet
from dragoman.training.warm_start import choose_trained, copy_bundle_weights


@dataclass(frozen=True)
class TrainResult:
    """How a training ended. A stopped run, and any rank but the first, has no bundle and no scores."""

    ended: TrainingEnded
    run: Path
    bundle: Bundle | None = None
    scores: tuple[SetScore, ...] = ()


def train_model(
    training: CheckedTraining,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    loader_workers: int = 0,
    stop: StopSignal | None = None,
    checkpoint_url: str | None = None,
) -> TrainResult:
    """Train on prepared data, and write a bundle into the folder of the run.

    A resumed run continues from its newest checkpoint, or starts if it has none. Several processes train together when
    a launcher such as torchrun starts them. `stop` can be used to stop training from another thread. Checkpoints are
    copied to `checkpoint_url`, and a run that is resumed without any is resumed from there.
    """
    limit_kernel_caches()
    config, folder, run, prepared = training.config, training.folder, training.run, training.prepared
    tokenizers = prepared.tokenizers()
    with ExitStack() as held:
        group = held.enter_context(join_process_group(config.training.device))
        group.run_on_main(prepared.verify)
        held.callback(torch.set_num_threads, torch.get_num_threads())
        if config.training.threads:
            torch.set_num_threads(config.training.threads)
        if config.training.reproducible:
            held.enter_context(single_thread(deterministic=True))
        checkpoints = CheckpointStore(run / CHECKPOINTS)
        copies = group.run_on_main(lambda: _open_copies(checkpoint_url, checkpoints, run, resume=training.resume))
        sizes = (tokenizers["source"].size, tokenizers["target"].size)
        config = with_precision(config, sizes, run, group, resume=training.resume)
        notes = group.run_on_main(lambda: lock_run(training, config, checkpoints, held))
        callbacks = [*callbacks, *(group.run_on_main(lambda: plugin_callbacks(config)) or ())]
        base = open_start_bundle(config, folder)
        config = with_start_tokenizer(config, base)
        if base is not None:  # a checkpoint is used as the base is
            config = inherit_inference(base, config, tokenizers)[0]
        model = _model(config, tokenizers, base)
        # Read before training: an invalid test set must not fail after hours.
        sets = group.run_on_main(lambda: held_out_sets(prepared, config, folder, tokenizers))
        tests = [(each.name, each.sources, each.references, each.direction) for each in sets or () if each.is_test]
        group.run_on_main(lambda: save_test_sets(run, tests))  # it can be evaluated without the corpora
        group.run_on_main(lambda: save_run_tokenizers(run, config, tokenizers, base))
        rank, world = group.rank, group.size
        batches = BatchLoader.from_prepared(prepared, config, rank=rank, world=world, workers=loader_workers)
        loader = held.enter_context(batches)
        reports = _callbacks(
            run, config, _data_facts(prepared, loader, base), callbacks, group, copies, training.overrides
        )
        if copies is not None and copies.downloaded:
            newest = copies.downloaded[-1]
            reports.on_message(f"checkpoints downloaded from {checkpoint_url}, the newest of update {newest}")
        if group.is_main:
            for change in prepared.input_changes(folder):
                reports.on_message(change)
        if training.note:
            reports.on_message(training.note)
        validation = _validation(prepared, config, tokenizers, group)
        trainer = Trainer(config, model, loader, checkpoints, reports, group=group, validation=validation, stop=stop)
        if training.resume:
            trainer.resume()
            for note in notes or ():
                reports.on_message(note)
        trained = TrainResult(trainer.run(), run)
        if trained.ended.is_complete:
            finish = _Finish(config, tokenizers, base, sets, checkpoints, trainer.signal, reports, group.device)
            trained = group.run_on_main(lambda: finish(trained)) or trained
        return trained


def _model(config: Config, tokenizers: dict[str, Tokenizer], base: Bundle | None) -> Model[Any, Any]:
    if base is not None:
        check_same_model(base, config.model)
    sizes = (tokenizers["source"].size, tokenizers["target"].size)
    model = build_model(config.model, *sizes, seed=config.training.seed)
    if base is not None:
        copy_bundle_weights(base, tokenizers, model, config.model)
    choose_trained(model, config.training)
    return model


def _open_copies(url: str | None, checkpoints: CheckpointStore, run: Path, *, resume: bool) -> CheckpointCopies | None:
    """Return the copies of checkpoints, if there is a URL for them; a resumed run without checkpoints gets them."""
    if url is None:
        return None
    copies = CheckpointCopies(url, checkpoints)
    copies.open(run, resume=resume)
    return copies


def _callbacks(
    run: Path,
    config: Config,
    facts: dict[str, Any],
    callbacks: Sequence[TrainerCallback],
    group: ProcessGroup,
    copies: CheckpointCopies | None,
    overrides: Sequence[str] | None,
) -> TrainerCallback:
    """Return all callbacks, the run record included; only the main rank has any."""
    if not group.is_main:
        return CallbackList()
    with atomic_write(run / PROJECT) as draft:
        draft.write_text(to_toml(config), encoding="utf-8")
    listed = CallbackList(*callbacks)
    record = RunRecord(run, config, facts=facts, overrides=overrides, report=listed.on_message)
    recorded = CallbackList(record, listed)
    for each in callbacks:
        if isinstance(each, PluginCallback):
            each.report = recorded.on_message
    return recorded if copies is None else CallbackList(recorded, CopyCheckpoints(copies, recorded.on_message))


def _validation(
    prepared: PreparedData, config: Config, tokenizers: dict[str, Tokenizer], group: ProcessGroup
) -> ValidationSet | DirectionValidationSets | None:
    """Return the validation set, if there is one; only the main rank computes on it."""
    if "validation" not in prepared.manifest["splits"]:
        return None
    if not group.is_main:
        return ValidationSet([], config.training, None)
    assert config.data is not None
    if config.data.is_multilingual:
        return direction_validation(prepared, config, tokenizers)
    shards = prepared.shards("validation")
    planned = takewhile(lambda batch: batch.epoch == 0, prepared.plan(config, "validation").batches())
    batches = [Batch.from_flat(shards.gather(batch.rows), batch.rows) for batch in planned]
    sentences = min(config.training.validation_sentences, len(shards))
    scorer = None
    if sentences:
        rows = np.linspace(0, len(shards) - 1, sentences).astype(np.int64)  # evenly spaced: the set may be sorted
        scorer = TranslationScorer(shards.gather(rows), tokenizers, language=config.data.target)
    return ValidationSet(batches, config.training, scorer)


def _data_facts(prepared: PreparedData, loader: BatchLoader, base: Bundle | None) -> dict[str, Any]:
    """Return the description of the data in run.json."""
    return {
        "pairs": {name: split["rows"] for name, split in prepared.manifest["splits"].items()},
        "fingerprint": loader.plan.fingerprint,
        "start": None if base is None else base.digest,
    }


@dataclass(frozen=True)
class _Finish:
    """Scores held-out sets and writes the bundle after the last update; a stopped run does so when it is resumed."""

    config: Config
    tokenizers: dict[str, Tokenizer]
    base: Bundle | None
    sets: Sequence[HeldOutSet]
    checkpoints: CheckpointStore
    signal: StopSignal
    callback: TrainerCallback
    device: torch.device

    def __call__(self, trained: TrainResult) -> TrainResult:
        weights, steps = best_weights(self.checkpoints, self.config, trained.ended)
        try:
            with self.signal:
                scores = self._scores(weights) if self.config.training.validation_sentences else []
        except StopRequested:
            return replace(trained, ended=replace(trained.ended, why=self.signal.reason))
        if self.config.training.lora is not None and self.base is not None:
            trained_adapter(self.checkpoints, self.config.training.lora, steps[-1], self.base).save(
                trained.run / ADAPTER
            )
        bundle = write_trained(
            self.config, trained.run, weights, steps, trained.ended, self.tokenizers, scores, self.base
        )
        if self.base is not None and (note := inference_note(self.base, bundle)):
            self.callback.on_message(note)
        return replace(trained, bundle=bundle, scores=tuple(scores))

    def _scores(self, weights: Mapping[str, Tensor]) -> list[SetScore]:
        """Score held-out sets with the trained model, and with the model that training started from."""
        sizes = (self.tokenizers["source"].size, self.tokenizers["target"].size)
        model = build_model(self.config.model, *sizes)
        load_weights(model, weights)
        after, before = self._translate(model, self.tokenizers), dict[int, list[str]]()
        if self.base is not None:
            before = self._translate(load_model(self.base), self.base.tokenizers())
        found = [
            score_set(self.sets[place], texts, "trained", before=before.get(place)) for place, texts in after.items()
        ]
        return found + [score_set(self.sets[place], texts, "base") for place, texts in before.items()]

    def _translate(self, model: Model[Any, Any], tokenizers: dict[str, Tokenizer]) -> dict[int, list[str]]:
        """Return the translations of each set, by its place."""
        found = {}
        assert self.config.data is not None
        for place, each in enumerate(self.sets):
            if tokenizers is not self.tokenizers and not has_language_tokens(
                self.config.data, each.direction, tokenizers
            ):
                self.callback.on_message(f"{each.name} has no score before training: the base model lacks a language")
                continue
            try:
                model = model.to(self.device)
                found[place] = translate_set(model, tokenizers, self.config, each, check=self.signal.check)
            except DataError as error:  # such as a sentence that is too long for the model
                self.callback.on_message(f"{each.name} could not be scored: {error}")
        return found
