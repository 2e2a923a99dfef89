"""Save the complete training state to a checkpoint and restore it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.config.schema import Config
from dragoman.errors import TrainingError
from dragoman.models.base import Model
from dragoman.training.checkpoint.state_tensors import (
    gather_optimizer_state,
    gather_tensors,
    gather_weights,
    load_optimizer_state,
    load_tensors,
    load_weights,
)
from dragoman.training.checkpoint.store import Checkpoint, CheckpointStore
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.weight_average import MovingAverage


class CheckpointManager:
    """Saves and restores model, optimizer and averaged weights. The main process writes; the others wait for it."""

    def __init__(
        self,
        config: Config,
        model: Model[Any, Any],
        optimizer: torch.optim.Optimizer,
        average: MovingAverage | None,
        checkpoints: CheckpointStore,
        group: ProcessGroup,
    ) -> None:
        self._config = config
        self._model = model
        self._optimizer = optimizer
        self._average = average
        self._checkpoints = checkpoints
        self._group = group

    def save(self, update: int, state: Mapping[str, Any], *, keep: Collection[int]) -> Path:
        """Write a checkpoint and return its folder; remove all others except those in `keep` and damaged ones."""
        is_main = self._group.is_main
        weights = gather_weights(self._model, keep=is_main)
        optimizer = gather_optimizer_state(self._model, self._optimizer, keep=is_main)
        average = None
        if self._average is not None:
            average = gather_tensors(self._average.named(), keep=is_main)

        def write() -> None:
            try:
                self._checkpoints.save(
                    update, weights=weights, optimizer=optimizer, average=average, state=state, config=self._config
                )
                self._checkpoints.prune(keep_last=1, keep=keep)
            except OSError as error:
                raise TrainingError(
                    f"{self._checkpoints.folder} must be writable for the checkpoint of update {update}, got: "
                    f"{error.strerror or error}; earlier checkpoints are undamaged: check the disk, then continue "
                    "with --resume"
                ) from error

        self._group.run_on_main(write)
        return self._checkpoints.folder / f"step_{update}"

    def restore(self, checkpoint: Checkpoint) -> None:
        """Load the weights, the optimizer state and the averaged weights of a checkpoint."""
        load_weights(self._model, checkpoint.weights())
        load_optimizer_state(self._model, self._optimizer, checkpoint.optimizer())
        if self._average is not None:
            load_tensors(self._average.named(), checkpoint.average() or {})
