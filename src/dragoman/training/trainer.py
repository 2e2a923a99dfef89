"""Training loop: updates, validations and checkpoints, until a stopping condition or a stop signal.

An update is a function of the configuration, the data and the number of the update. All that the loop carries from one
update to the next is in `TrainState`, the weights and the optimizer, and a checkpoint holds all of it. Therefore a run
that was interrupted anywhere and resumed ends with the same bits as an uninterrupted one.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dragoman.config.schema import Config
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.errors import BundleError, DragomanError, TrainingError
from dragoman.models.base import Model
from dragoman.reporting.number_format import format_count
from dragoman.stop_signal import STOP_REASONS, StopSignal
from dragoman.training.callbacks.events import StepEvent, TrainerCallback, TrainingEnded, TrainingStarted
from dragoman.training.checkpoint import Checkpoint, CheckpointManager, CheckpointStore, gather_tensor
from dragoman.training.distributed.parallel import GradientAccumulator, build_strategy
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.optimizer import MovingAverage, build_optimizer
from dragoman.training.step import LossModule, RewardBaseline, clip_gradient, set_learning_rate
from dragoman.training.thread_controller import build_thread_controller
from dragoman.training.train_state import TrainState
from dragoman.training.validator import DirectionValidationSets, ValidationSet, Validator

_MAX_ROLLBACKS = 3
_MEASURED_SECONDS = 0.2  # of computing, for one measurement of the speed
_MEASURED_CELLS = 256  # at least


class Trainer:
    """One training run in one process; all ranks make the same calls, only the main one writes and calls back."""

    def __init__(
        self,
        config: Config,
        model: Model[Any, Any],
        loader: BatchLoader,
        checkpoints: CheckpointStore,
        callback: TrainerCallback,
        *,
        group: ProcessGroup | None = None,
        validation: ValidationSet | DirectionValidationSets | None = None,
        stop: StopSignal | None = None,
    ) -> None:
        self.state = TrainState()
        self._config = config.training
        self._group = group or ProcessGroup()
        self._callback = callback
        self._loader = loader
        self._checkpoints = checkpoints
        self.signal = stop or StopSignal()
        self._model = model.to(self._group.device)
        self._batches = self._config.batches_per_process(self._group.size)
        if self._config.recompute:
            model.recompute_layers()
        self._validator = None
        if validation is not None:
            self._validator = Validator(model, validation, self._config, self._group, callback)
        self._loss = LossModule(self._model, self._config)
        strategy = build_strategy(self._loss, self._config, self._group)
        self._gradients = GradientAccumulator(strategy, self._config, self._group, self._message)
        self._optimizer = build_optimizer(self._model, self._config)
        self._average = MovingAverage(self._model, self._config.ema_decay) if self._config.ema_decay else None
        self._manager = CheckpointManager(config, self._model, self._optimizer, self._average, checkpoints, self._group)
        self._threads = build_thread_controller(self._config, self._group)
        self._position = loader.state()
        self._saved: dict[str, Any] = {}

    # ----------------------------------------------------------------------------------------------------- the run

    def resume(self) -> bool:
        """Restore the newest undamaged checkpoint; False if the run has none."""
        found = self._group.run_on_main(self._newest_checkpoint)
        step = self._group.broadcast(None if found is None else found.update)
        if step is None:
            return False
        checkpoint = found or self._checkpoints.open(step)
        self._manager.restore(checkpoint)
        self._position = checkpoint.state["loader"]
        self._loader.resume(self._position)
        self.state = TrainState.from_json(checkpoint.state["train_state"])
        self._saved = {name: checkpoint.state[name] for name in ("train_state", "loader")}
        self._threads.resume(checkpoint.state.get("threads"))  # older checkpoints do not have it
        return True

    def _newest_checkpoint(self) -> Checkpoint | None:
        found = self._checkpoints.latest(self._message)
        if found is None and (steps := self._checkpoints.steps()):
            raise BundleError(
                f"all {len(steps)} checkpoints in {self._checkpoints.folder} are damaged; restore one of them, or "
                "start a new run with --output"
            )
        return found

    def run(self) -> TrainingEnded:
        """Train until a stopping condition or a stop signal."""
        start, tokens, first = time.monotonic(), self.state.tokens, self.state.update
        self._group.broadcast()  # no rank writes before all have read the existing files
        with self.signal:
            self._report_start()
            try:
                if not self._saved:
                    self._save(is_scheduled=True)  # the first target of a rollback
                why = self._train()
                self._save()
            except BaseException:
                with suppress(DragomanError):  # report the first error, not one that follows from it
                    self._report_end("failed", start, tokens, first)
                raise
        return self._report_end(why, start, tokens, first)

    def _train(self) -> str:
        while True:
            why = self._stopping_condition()
            if why or self._should_validate():
                if not self._validate():
                    return self._synchronize(0)[1]
                self._save(is_scheduled=True)
                why = self._stopping_condition()
            if why:
                return why
            start = time.monotonic()
            batches = [next(self._loader) for _ in range(self._batches)]
            tokens, stop_reason = self._synchronize(sum(batch.target_tokens for batch in batches))
            if stop_reason:  # these batches are drawn again when the run is resumed
                return stop_reason
            self._update(batches, tokens, start)
            self._adapt_threads(batches[0], tokens, time.monotonic() - start)
            if self._should_save() and not self._should_validate():
                self._save(is_scheduled=True)

    def _stopping_condition(self) -> str:
        """Why training is complete; empty if it is not."""
        config, best = self._config, self.state.best
        if best is not None and 0 < config.patience <= best.validations_since:
            return "no better"
        is_complete = 0 < config.max_epochs <= self._position["epoch"] or self.state.update >= config.max_updates
        return "finished" if is_complete else ""

    def _should_save(self) -> bool:
        update = self.state.update  # already in `checkpoints` right after a rollback
        return update % self._config.checkpoint_every == 0 and update not in self.state.checkpoints

    def _should_validate(self) -> bool:
        state = self.state
        return state.update > state.last_validated and state.update % self._config.validate_every == 0

    def _synchronize(self, tokens: int) -> tuple[int, str]:
        """The target tokens of this update on all ranks, and the stop reason if any rank got a stop signal."""
        reasons = ["", *STOP_REASONS.values()]
        ranks = self._group.all_gather([tokens, reasons.index(self.signal.reason)])
        return int(sum(tokens for tokens, _ in ranks)), reasons[int(max(reason for _, reason in ranks))]

    def _validate(self) -> bool:
        """Validate, unless this update is validated already; False if a stop signal cancelled it."""
        state = self.state
        if self._validator is None or state.last_validated == state.update > 0:
            return True
        best = self._validator.validate(state.update, state.best, self._average, self.signal.check)
        if best is None:
            return False
        self.state = replace(state, last_validated=state.update, best=best)
        return True

    def _save(self, *, is_scheduled: bool = False) -> None:
        """Write a checkpoint of the current state, unless it exists. One at an interruption is not `is_scheduled`."""
        if is_scheduled:
            self.state = self.state.with_checkpoint(self._config.keep_last)
        saved = {"train_state": self.state.to_json(), "loader": self._position}
        if self._saved == saved:
            return
        update = self.state.update
        if self._group.is_main:
            self._callback.on_checkpoint_start(update)
        written = saved | {"threads": self._threads.threads}
        folder = self._manager.save(update, written, keep=self.state.updates_to_keep())
        self._saved = saved
        if self._group.is_main:
            self._callback.on_checkpoint_end(update, folder)

    # ------------------------------------------------------------------------------------------------- one update

    def _update(self, batches: Sequence[Batch], tokens: int, start: float) -> None:
        state, config = self.state, self._config
        update = state.update + 1
        baseline = self._loss.baseline = RewardBaseline(config.baseline_decay, state.baseline)
        gradient = self._gradients.accumulate(batches, tokens, update)
        norm = float(gather_tensor(clip_gradient(self._model, config)))
        rate = set_learning_rate(self._optimizer, config, update)
        skip_reason = state.divergence.skip_reason(gradient.loss, norm, config.spike)
        if not skip_reason:
            self._optimizer.step()
            baseline = baseline.after(gradient.nll, tokens)
            if self._average is not None:
                self._average.update(update)
        self.state = replace(
            state,
            update=update,
            tokens=state.tokens + tokens,
            baseline=baseline.mean,
            divergence=state.divergence.after(gradient.loss, skipped=bool(skip_reason)),
        )
        self._position = self._loader.state()
        if self._group.is_main:
            seconds = time.monotonic() - start
            at = self._loader.position
            self._callback.on_update(
                StepEvent(update, at.epoch, gradient.loss, tokens, norm, rate, seconds, at.number, skip_reason)
            )
        if skip_reason:
            self._handle_skip(skip_reason)

    def _adapt_threads(self, batch: Batch, tokens: int, seconds: float) -> None:
        """Change the number of threads if another one is faster with the present load."""
        self._threads.record(tokens, seconds)
        if not self._threads.is_due:
            return
        cells = int(batch.cells * _MEASURED_SECONDS / seconds)
        part = batch.parts(max(_MEASURED_CELLS, cells))[0]
        before = self._threads.threads
        gain = self._threads.compare(lambda: self._gradients.measure(part, self.state.update))
        if self._threads.threads != before:
            self._message(
                f"training continues with {format_count(self._threads.threads, 'thread')} instead of {before}, "
                f"{gain:.1f} times as fast with the present load; --threads fixes the number"
            )

    def _handle_skip(self, reason: str) -> None:
        """Report the skipped batches; roll back after several bad updates in a row."""
        last = self._loader.position.number
        first = last - self._config.micro_batches
        self._message(f"update {self.state.update} was skipped: {reason} (batches {first} to {last - 1})")
        if self.state.divergence.should_roll_back:
            self._roll_back()

    def _roll_back(self) -> None:
        """Restore the last good checkpoint. The data position is kept, so the bad batches are not used again."""
        before = self.state
        if before.rollbacks == _MAX_ROLLBACKS:
            raise TrainingError(
                f"training must not diverge, got {_MAX_ROLLBACKS} rollbacks to update {before.last_good}, each "
                "followed by bad updates; start a run with a lower training.learning_rate, or check the data"
            )
        checkpoint = self._checkpoints.open(before.last_good)
        self._manager.restore(checkpoint)
        self.state = TrainState.from_json(checkpoint.state["train_state"]).rolled_back_from(before)
        skipped = before.update - before.last_good
        self._message(
            f"rolled back to update {before.last_good}; the batches of the {skipped} updates after it are not "
            "used again"
        )

    # --------------------------------------------------------------------------------------------------- callbacks

    def _report_start(self) -> None:
        if not self._group.is_main:
            return
        best, parameters = self.state.best, list(self._model.parameters())
        total = sum(parameter.numel() for parameter in parameters)
        trainable = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
        self._callback.on_start(
            TrainingStarted(
                folder=self._checkpoints.folder.parent,
                parameters=total,
                trainable=None if trainable == total else trainable,
                processes=self._group.size,
                device=str(self._group.device),
                update=self.state.update,
                max_updates=self._config.max_updates,
                last_validated=self.state.last_validated,
                drawn=self._loader.position.number,
                best_update=None if best is None else best.update,
                best_value=None if best is None else best.value,
                metric=self._config.stop_on,
                stops_early=self._config.patience > 0 or self._config.max_epochs > 0,
            )
        )

    def _report_end(self, why: str, start: float, tokens: int, first: int) -> TrainingEnded:
        best = self.state.best
        ended = TrainingEnded(
            why=why,
            update=self.state.update,
            seconds=time.monotonic() - start,
            tokens=self.state.tokens - tokens,
            best_update=None if best is None else best.update,
            best_value=None if best is None else best.value,
            metric=self._config.stop_on,
            resumed_at=first,
        )
        if self._group.is_main:
            self._callback.on_end(ended)
        return ended

    def _message(self, text: str) -> None:
        if self._group.is_main:
            self._callback.on_message(text)
