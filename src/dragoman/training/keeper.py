"""From a running training to a checkpoint, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.config.schema import Config
from dragoman.errors import TrainingError
from dragoman.models.protocol import Model
from dragoman.training.average import MovingAverage
from dragoman.training.checkpoint import Checkpoint, Checkpoints
from dragoman.training.tensors import load_optimizer, load_tensors, load_weights, optimizer_tensors, weights_of, whole
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

    def save(self, update: int, state: Mapping[str, Any], *, best: int | None) -> Path:
        """Write a checkpoint, and remove the ones that need not be kept any more; where it is."""
        weights = weights_of(self._model)
        optimizer = optimizer_tensors(self._model, self._optimizer)
        average = None
        if self._average is not None:
            average = {name: whole(tensor) for name, tensor in self._average.named().items()}
        if self._world.is_first:
            keep = self._config.training.keep_last
            try:
                self._checkpoints.save(
                    update, weights=weights, optimizer=optimizer, average=average, state=state, config=self._config
                )
                self._checkpoints.prune(keep_last=keep, keep=() if best is None else (best,))
            except OSError as error:
                raise TrainingError(
                    f"{self._checkpoints.folder} must have room for a checkpoint at update {update}, got: "
                    f"{error.strerror or error}; earlier checkpoints are whole: make room, and go on with --resume"
                ) from error
        self._world.first_says(update)
        return self._checkpoints.folder / f"step_{update}"

    def restore(self, checkpoint: Checkpoint) -> None:
        """Bring model, optimizer and moving average to where they were."""
        load_weights(self._model, checkpoint.weights())
        load_optimizer(self._model, self._optimizer, checkpoint.optimizer())
        if self._average is not None:
            load_tensors(self._average.named(), checkpoint.average() or checkpoint.weights())
