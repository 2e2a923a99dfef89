"""A tiny prepared project, made once a session, and runs of any model on it that stop wherever a test wants.

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

from benchmarks.campaign.project import Project, make_project
from dragoman.api.training import Trained, train
from dragoman.config import Config, load_config
from dragoman.training.progress import Moment, Observer, Observers, Validated
from tests.presets import tiny_config

_ROOM = tempfile.TemporaryDirectory(prefix="dragoman-tiny-")


@functools.cache
def tiny_project() -> Project:
    """A folder with prepared data; do not write into it."""
    return make_project(Path(_ROOM.name) / "project")


def tiny_training(name: str, *overrides: str) -> Config:
    """One of `tests.presets.MODELS`, shrunk, on the tiny project; a dozen updates of two batches, over two epochs."""
    settings = {"max_updates": 12, "checkpoint_every": 3, "validate_every": 5, "validation_sentences": 2}
    settings |= {"micro_batches": 2, "batch_tokens": 96}
    ours = [f"training.{setting}={value}" for setting, value in settings.items()]
    config = load_config(tiny_project().config, [*ours, *overrides])
    return config.model_copy(update={"model": tiny_config(name)})


class Killed(BaseException):
    """Nothing catches it, so nothing is saved: as near to kill -9 as one process can do to itself."""


@dataclass(frozen=True)
class Stop:
    """After an update, or at the validation that follows it: asked as a scheduler asks, or killed."""

    update: int
    how: Literal["asked", "killed"] = "asked"
    at_validation: bool = False


class Stopper(Observers):
    """Stops the training it watches, from inside, at an exact moment."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self.stop = stop

    def updated(self, moment: Moment) -> None:
        if moment.update == self.stop.update and not self.stop.at_validation:
            self._do()

    def validating(self, update: int) -> None:
        if update >= self.stop.update and self.stop.at_validation:
            self._do()

    def _do(self) -> None:
        if self.stop.how == "killed":
            raise Killed
        os.kill(os.getpid(), signal.SIGTERM)


class Told(Observers):
    """Remembers what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[Moment] = []
        self.notes: list[str] = []
        self.validations: list[Validated] = []

    def updated(self, moment: Moment) -> None:
        self.moments.append(moment)

    def validated(self, validated: Validated) -> None:
        self.validations.append(validated)

    def noted(self, text: str) -> None:
        self.notes.append(text)


def train_tiny(
    config: Config, run: Path, *, stops: Sequence[Stop] = (), observers: Sequence[Observer] = (), **settings: Any
) -> Trained:
    """Train to the end, stopped on the way as often as asked for, each time going on from what was saved."""
    folder = tiny_project().folder
    for stop in stops:
        try:
            train(config, folder, run=run, resume=True, observers=[*observers, Stopper(stop)], **settings)
        except Killed:
            continue
    return train(config, folder, run=run, resume=True, observers=observers, **settings)
