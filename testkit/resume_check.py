"""Verify that a stopped and resumed training run gives the same checkpoints, bit for bit, as one without a stop."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import Config
from dragoman.errors import ConfigError
from dragoman.training.callbacks.events import CallbackList, StepEvent
from dragoman.training.checkpoint import Checkpoint, CheckpointStore


@dataclass(frozen=True)
class ResumeReport:
    """Result of a check; `differences` names what was not bit-identical."""

    updates: int
    stops: tuple[int, ...]
    tensors: int
    differences: tuple[str, ...]


class _Stopper(CallbackList):
    """Sends this process SIGTERM after an update, as a scheduler does."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def on_update(self, moment: StepEvent) -> None:
        """Send the signal."""
        if moment.update == self._after:
            os.kill(os.getpid(), signal.SIGTERM)


def verify_resume(config: Config, folder: Path, *, updates: int = 12, stops: Sequence[int] = (3, 7, 8)) -> ResumeReport:
    """Train twice, once stopped and resumed several times, and compare the last checkpoints.

    All files are temporary.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 or threading.current_thread() is not threading.main_thread():
        raise ConfigError(
            "resuming is verified by one process, in its main thread, where signals arrive; start it without torchrun"
        )
    settings: dict[str, Any] = {
        "max_updates": updates,
        "validate_every": updates,
        "validation_sentences": 0,
        "stop_on": "loss",
        "callbacks": None,
    }
    settings |= {"checkpoint_every": updates, "average_last": 0, "patience": 0, "max_epochs": 0}
    settings["threads"] = config.training.threads or torch.get_num_threads()  # a change would change the order of sums
    few = config.model_copy(update={"training": config.training.model_copy(update=settings)})
    with tempfile.TemporaryDirectory(prefix="dragoman-verify-") as room:
        whole, parts = Path(room) / "whole", Path(room) / "parts"
        train_model(check_training(few, folder, whole))
        for stop in stops:
            ended = train_model(check_training(few, folder, parts, resume=True), callbacks=[_Stopper(stop)]).ended
            assert (ended.why, ended.update) == ("terminated", stop), ended
        train_model(check_training(few, folder, parts, resume=True))
        one, other = (CheckpointStore(run / "checkpoints").open(updates) for run in (whole, parts))
        differences = _differences(one, other)
        return ResumeReport(updates, tuple(stops), len(_tensors(one)), tuple(differences))


def _tensors(checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    found = {f"weights {name}": tensor for name, tensor in checkpoint.weights().items()}
    found |= {f"optimizer {name}": tensor for name, tensor in checkpoint.optimizer().items()}
    return found | {f"average {name}": tensor for name, tensor in (checkpoint.average() or {}).items()}


def _differences(one: Checkpoint, other: Checkpoint) -> list[str]:
    ours, theirs = _tensors(one), _tensors(other)
    found = [name for name in sorted({*ours, *theirs}) if not _same(ours.get(name), theirs.get(name))]
    return found + [f"state {name}" for name in one.state if one.state[name] != other.state.get(name)]


def _same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    """Whether the bits are equal: compared as numbers, a NaN would differ from itself, and -0 would equal 0."""
    if one is None or other is None or one.shape != other.shape:
        return False
    return torch.equal(one.reshape(-1).view(torch.uint8), other.reshape(-1).view(torch.uint8))
