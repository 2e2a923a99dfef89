"""Train a trial up to a number of updates, in a run folder that is continued from rung to rung."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.training.checked_training import check_training
from dragoman.config import Config
from dragoman.errors import TrainingError
from dragoman.files import finite_number, read_json, read_json_lines
from dragoman.run_files import BUNDLE, CHECKPOINTS, LOG, RECORD
from dragoman.training.callbacks.events import COMPLETE, CallbackList, StepEvent, TrainingStarted, ValidationEvent


@dataclass(frozen=True)
class TrialTask:
    """Train a configuration up to `updates`; paths are absolute if another process does it."""

    config: Config
    project: Path
    run: Path
    updates: int


@dataclass(frozen=True)
class TrialRecord:
    """What the folder of a trial records: scores of its validations by update, and whether it is complete."""

    curve: tuple[tuple[int, float], ...] = ()
    is_complete: bool = False
    stopped: str = ""
    """``terminated`` or ``interrupted`` if a signal ended it before its rung."""
    error: str = ""
    """Why training failed; empty if it did not."""

    @property
    def updates(self) -> int:
        """Update of the last validation."""
        return self.curve[-1][0] if self.curve else 0

    def best(self, updates: int, *, lower_is_better: bool) -> float | None:
        """Return the best score up to an update; None if there is none."""
        scores = [score for update, score in self.curve if update <= updates]
        return (min if lower_is_better else max)(scores) if scores and not self.error else None

    def reached(self, task: TrialTask) -> bool:
        """Whether the rung of a task is complete."""
        return self.is_complete or (task.updates < task.config.training.max_updates and self.updates >= task.updates)


def read_trial(run: Path, metric: str) -> TrialRecord:
    """Read the record of a run by the score that its best validation is chosen by."""
    curve: dict[int, float] = {}
    for entry in read_json_lines(run / LOG):
        if entry.get("kind") != "validation" or not isinstance(entry.get("update"), int):
            continue
        value = entry.get("loss") if metric == "loss" else (entry.get("scores") or {}).get(metric)
        if (number := finite_number(value)) is not None:
            curve[entry["update"]] = number
    facts = read_json(run / RECORD) or {}
    is_complete = facts.get("ended") in COMPLETE and (run / BUNDLE).exists()
    return TrialRecord(tuple(sorted(curve.items())), is_complete)


def run_trial(task: TrialTask, on_update: Callable[[int], None] = lambda update: None) -> TrialRecord:
    """Train a trial up to its rung, once, and return its record; training that diverges ends the trial only."""
    from dragoman.api.training.training_run import train_model  # noqa: PLC0415 -- needs torch; records do not

    metric = task.config.training.stop_on
    found = read_trial(task.run, metric)
    if found.reached(task):
        return found
    stop = _StopAt(task.updates if task.updates < task.config.training.max_updates else None, on_update)
    resume = (task.run / CHECKPOINTS).is_dir() or (task.run / RECORD).exists()
    try:
        trained = train_model(check_training(task.config, task.project, task.run, resume=resume), callbacks=[stop])
    except TrainingError as error:
        return TrialRecord(read_trial(task.run, metric).curve, error=str(error))
    found = read_trial(task.run, metric)
    stopped = "" if trained.ended.is_complete or stop.is_reached else trained.ended.why
    return TrialRecord(found.curve, found.is_complete, stopped)


class _StopAt(CallbackList):
    """A callback that stops training after the validation of an update, as SIGTERM does: with a checkpoint."""

    def __init__(self, update: int | None, on_update: Callable[[int], None]) -> None:
        super().__init__()
        self._update, self._on_update = update, on_update
        self.is_reached = False

    def on_start(self, started: TrainingStarted) -> None:
        self._on_update(started.update)

    def on_update(self, event: StepEvent) -> None:
        self._on_update(event.update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        if self._update is not None and event.update >= self._update and not self.is_reached:
            self.is_reached = True
            signal.raise_signal(signal.SIGTERM)
