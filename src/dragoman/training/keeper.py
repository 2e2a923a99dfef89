"""From a running training to a checkpoint, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.config.schema import Config
from dragoman.errors import TrainingError
from dragoman.models.protocol import Model
from dragoman.training.average import MovingAverage
from dragoman.training.checkpoint import Checkpoint, Checkpoints
from dragoman.training.tensors import (
    load_optimizer,
    load_tensors,
    load_weights,
    optimizer_tensors,
    weights_of,
    whole_tensors,
)
from dragoman.training.world import World

__all__ = ["Keeper"]


class Keeper:
    """Saves and restores what changes while a model learns; the first process writes, and all wait until it has."""

    def __init__(
        self,
        config: Config,
        model: Model[Any, Any],
        optimizer: torch.optim.Optimizer,
        average: MovingAverage | None,
        checkpoints: Checkpoints,
        world: World,
    ) -> None:
        self._config = config
        self._model = model
        self._optimizer = optimizer
        self._average = average
        self._checkpoints = checkpoints
        self._world = world

    def save(self, update: int, state: Mapping[str, Any], *, keep: Collection[int]) -> Path:
        """Write a checkpoint, and remove all but this one, those to `keep`, and damaged ones; where it is."""
        first = self._world.is_first
        weights = weights_of(self._model, keep=first)
        optimizer = optimizer_tensors(self._model, self._optimizer, keep=first)
        average = None
        if self._average is not None:
            average = whole_tensors(self._average.named(), keep=first)

        def write() -> None:
            try:
                self._checkpoints.save(
                    update, weights=weights, optimizer=optimizer, average=average, state=state, config=self._config
                )
                self._checkpoints.prune(keep_last=1, keep=keep)
            except OSError as error:
                raise TrainingError(
                    f"{self._checkpoints.folder} must take a checkpoint at update {update}, got: "
                    f"{error.strerror or error}; earlier ones are whole: see to the disk, and go on with --resume"
                ) from error

        self._world.first_does(write)
        return self._checkpoints.folder / f"step_{update}"

    def restore(self, checkpoint: Checkpoint) -> None:
        """Bring model, optimizer and moving average to where they were."""
        load_weights(self._model, checkpoint.weights())
        load_optimizer(self._model, self._optimizer, checkpoint.optimizer())
        if self._average is not None:
            load_tensors(self._average.named(), checkpoint.average() or {})
