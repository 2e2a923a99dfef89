"""Callback protocol of the training loop, and the events that callbacks receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

COMPLETE = ("finished", "no better")
"""Ends of training after which a run is not resumed."""


@dataclass(frozen=True)
class ValidationSample:
    """A sentence of the validation set with its current translation.

    Shapes: weights [target words][source words], numbers from 0 to 1; None for a model without attention.
    """

    source: str
    reference: str
    translation: str
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    weights: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class ValidationScores:
    """Scores of the translated validation set by name (bleu, chrf), their signatures, and some samples."""

    scores: Mapping[str, float] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    samples: tuple[ValidationSample, ...] = ()
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Several directions: loss and scores of each by its name, such as "en:de"; `scores` are their means."""


@dataclass(frozen=True)
class TrainingStarted:
    """Start of training; the counts are those of the checkpoint of a resumed run."""

    folder: Path
    parameters: int
    processes: int
    device: str
    update: int
    max_updates: int
    last_validated: int
    """The update of the last validation."""
    drawn: int
    """Number of batches drawn so far."""
    trainable: int | None = None
    """Number of parameters that are trained; None if it is all of them."""
    best_update: int | None = None
    """The update of the best validation so far; None before the first."""
    best_value: float | None = None
    metric: str = "loss"


@dataclass(frozen=True)
class StepEvent:
    """One update."""

    update: int
    epoch: int
    loss: float
    tokens: int
    gradient_norm: float
    learning_rate: float
    seconds: float
    drawn: int
    """Number of batches drawn so far. It never decreases; `update` does after a rollback."""
    skipped: str = ""
    """Why the weights were not changed; empty if they were."""


@dataclass(frozen=True)
class ValidationEvent:
    """One validation; `best_update` and `best_value` are those of the best validation so far."""

    update: int
    loss: float
    scored: ValidationScores
    is_best: bool
    best_update: int
    best_value: float
    metric: str
    seconds: float


@dataclass(frozen=True)
class TrainingEnded:
    """End of training: ``finished``, ``no better``, ``terminated``, ``interrupted`` or ``failed``.

    `seconds` and `tokens` count since the last start or resume.
    """

    why: str
    update: int
    seconds: float
    tokens: int
    best_update: int | None
    best_value: float | None
    metric: str
    resumed_at: int = 0
    """Update at which the run was resumed last; 0 if it never was."""

    @property
    def is_complete(self) -> bool:
        """Whether training is complete; otherwise the run can be resumed."""
        return self.why in COMPLETE


class TrainerCallback(Protocol):
    """Receives events on the main process, for instance to display or log them. It must not change the training."""

    def on_start(self, started: TrainingStarted) -> None:
        """Called before the first update."""

    def on_update(self, event: StepEvent) -> None:
        """Called after an update, skipped or not."""

    def on_validation_start(self, update: int) -> None:
        """Called before a validation."""

    def on_validation_end(self, event: ValidationEvent) -> None:
        """Called after a validation."""

    def on_checkpoint_start(self, update: int) -> None:
        """Called before a checkpoint is written. A run resumed from it does not report earlier events again."""

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        """Called when a checkpoint is on the disk."""

    def on_message(self, text: str) -> None:
        """Called with a message for the user."""

    def on_end(self, ended: TrainingEnded) -> None:
        """Called after the last update."""


class CallbackList:
    """Forwards every event to several callbacks, in order."""

    def __init__(self, *callbacks: TrainerCallback) -> None:
        self._callbacks = callbacks

    def on_start(self, started: TrainingStarted) -> None:
        for callback in self._callbacks:
            callback.on_start(started)

    def on_update(self, event: StepEvent) -> None:
        for callback in self._callbacks:
            callback.on_update(event)

    def on_validation_start(self, update: int) -> None:
        for callback in self._callbacks:
            callback.on_validation_start(update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        for callback in self._callbacks:
            callback.on_validation_end(event)

    def on_checkpoint_start(self, update: int) -> None:
        for callback in self._callbacks:
            callback.on_checkpoint_start(update)

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        for callback in self._callbacks:
            callback.on_checkpoint_end(update, folder)

    def on_message(self, text: str) -> None:
        for callback in self._callbacks:
            callback.on_message(text)

    def on_end(self, ended: TrainingEnded) -> None:
        for callback in self._callbacks:
            callback.on_end(ended)
