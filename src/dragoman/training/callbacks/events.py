"""Callback protocol of the training loop, its events, and the callbacks of plug-ins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dragoman.config import Config
from dragoman.errors import DragomanError, MissingExtraError
from dragoman.plugins import find_plugin, load_plugin

COMPLETE = ("finished", "no better")
"""Ends of training after which a run is not resumed."""


@dataclass(frozen=True)
class ValidationSample:
    """A validation sentence with its translation. Shapes: weights [target words][source words], or None."""

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
    stops_early: bool = False
    """Whether training may end before `max_updates`."""


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
    """End: ``finished``, ``no better``, ``terminated``, ``interrupted`` or ``failed``; counts since the last start."""

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
    """Receives events on the main process, to display or log them; a subclass overrides what it needs."""

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

    def _forward(self, event: str, *values: object) -> None:
        for callback in self._callbacks:
            getattr(callback, event)(*values)

    def on_start(self, started: TrainingStarted) -> None:
        self._forward("on_start", started)

    def on_update(self, event: StepEvent) -> None:
        self._forward("on_update", event)

    def on_validation_start(self, update: int) -> None:
        self._forward("on_validation_start", update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        self._forward("on_validation_end", event)

    def on_checkpoint_start(self, update: int) -> None:
        self._forward("on_checkpoint_start", update)

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        self._forward("on_checkpoint_end", update, folder)

    def on_message(self, text: str) -> None:
        self._forward("on_message", text)

    def on_end(self, ended: TrainingEnded) -> None:
        self._forward("on_end", ended)


class PluginCallback(CallbackList):
    """Forwards events to the callback of a plug-in until it raises an exception."""

    def __init__(self, name: str, callback: TrainerCallback) -> None:
        super().__init__(callback)
        self._name = name
        self.report: Callable[[str], None] = lambda text: None
        """Receives the message about a failure."""

    def _forward(self, event: str, *values: object) -> None:
        try:
            super()._forward(event, *values)
        except Exception as error:  # noqa: BLE001 -- a training of days must not end because a logger is offline
            self._callbacks = ()
            plugin = find_plugin("callbacks", self._name)
            self.report(f"{plugin} failed in {event}: {_detail(error)}; it receives no more events")


def plugin_callbacks(config: Config) -> list[PluginCallback]:
    """Create the callbacks that `training.callbacks` names; raise a one-line error if one cannot be created."""
    return [PluginCallback(name, _create(name, config)) for name in config.training.callbacks or ()]


def _create(name: str, config: Config) -> TrainerCallback:
    factory = load_plugin("callbacks", name)
    try:
        callback: TrainerCallback = factory(config)
    except DragomanError:
        raise
    except Exception as error:
        raise MissingExtraError(f"{find_plugin('callbacks', name)} cannot start: {_detail(error)}") from error
    return callback


def _detail(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
