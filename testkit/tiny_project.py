"""A tiny prepared project, built once per session, and training runs on it that stop at given points.

::

    config = tiny_training("xu2015-desk", "training.max_updates=9")
    train_tiny(config, run, stops=[Stop(4, "killed"), Stop(7)])     # ends as if it had not been stopped
"""

from __future__ import annotations

import functools
import os
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import TrainResult, train_model
from dragoman.config import Config, load_config
from dragoman.training.callbacks.events import (
    CallbackList,
    StepEvent,
    TrainerCallback,
    TrainingStarted,
    ValidationEvent,
)
from testkit.presets import tiny_config
from testkit.training_faults.project import Project, make_project

_FOLDER = tempfile.TemporaryDirectory(prefix="dragoman-tiny-")


@functools.cache
def tiny_project() -> Project:
    """A folder with prepared data; do not write into it."""
    return make_project(Path(_FOLDER.name) / "project")


def tiny_training(name: str, *overrides: str) -> Config:
    """One of `testkit.presets.MODELS`, shrunk, on the tiny project; a dozen updates of two batches, over two epochs."""
    settings = {"max_updates": 12, "checkpoint_every": 3, "validate_every": 5, "validation_sentences": 2}
    settings |= {"micro_batches": 2, "batch_tokens": 96, "threads": 1}
    ours = [f"training.{setting}={value}" for setting, value in settings.items()]
    config = load_config(tiny_project().config, [*ours, *overrides])
    return config.model_copy(update={"model": tiny_config(name)})


class Killed(BaseException):
    """Nothing catches it, so nothing is saved: as near to kill -9 as one process can do to itself."""


@dataclass(frozen=True)
class Stop:
    """A stop after an update, or at its validation: requested like by a scheduler, or killed."""

    update: int
    how: Literal["asked", "killed"] = "asked"
    at_validation: bool = False


class Stopper(CallbackList):
    """Stops the training it watches, from inside, at an exact moment."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self.stop = stop

    def on_update(self, moment: StepEvent) -> None:
        if moment.update == self.stop.update and not self.stop.at_validation:
            self._do()

    def on_validation_start(self, update: int) -> None:
        if update >= self.stop.update and self.stop.at_validation:
            self._do()

    def _do(self) -> None:
        if self.stop.how == "killed":
            raise Killed
        os.kill(os.getpid(), signal.SIGTERM)


class EventRecorder(CallbackList):
    """Collects events."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[TrainingStarted] = []
        self.moments: list[StepEvent] = []
        self.notes: list[str] = []
        self.validations: list[ValidationEvent] = []

    def on_start(self, started: TrainingStarted) -> None:
        self.starts.append(started)

    def on_update(self, moment: StepEvent) -> None:
        self.moments.append(moment)

    def on_validation_end(self, validated: ValidationEvent) -> None:
        self.validations.append(validated)

    def on_message(self, text: str) -> None:
        self.notes.append(text)


def train_tiny(
    config: Config, run: Path, *, stops: Sequence[Stop] = (), callbacks: Sequence[TrainerCallback] = (), **settings: Any
) -> TrainResult:
    """Train to the end, with stops on the way; each time training resumes from the checkpoint."""
    folder = tiny_project().folder
    for stop in stops:
        try:
            train_model(
                check_training(config, folder, run, resume=True), callbacks=[*callbacks, Stopper(stop)], **settings
            )
        except Killed:
            continue
    return train_model(check_training(config, folder, run, resume=True), callbacks=callbacks, **settings)
