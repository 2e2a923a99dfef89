"""What training tells those who watch it: plain values, a few calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

__all__ = ["Began", "Ended", "Moment", "Observer", "Observers", "Sample", "Scored", "Validated"]


@dataclass(frozen=True)
class Sample:
    """A sentence of the validation set as the model translates it now.

    Shapes: weights [words of the translation][words of the source], rows of numbers from 0 to 1; None where the model
    has no attention to show.
    """

    source: str
    reference: str
    translation: str
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    weights: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class Scored:
    """What translating the validation set gave: scores by name (bleu, chrf), their signatures, and some samples."""

    scores: Mapping[str, float] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class Began:
    """What is about to run; `update` is how many updates were made before, in a run that goes on."""

    folder: Path
    parameters: int
    processes: int
    device: str
    update: int
    max_updates: int
    validated: int
    """The update of the last validation before."""
    drawn: int
    """How many batches were drawn before."""


@dataclass(frozen=True)
class Moment:
    """One update."""

    update: int
    epoch: int
    loss: float
    tokens: int
    gradient_norm: float
    learning_rate: float
    seconds: float
    drawn: int
    """How many batches the run has drawn by now: this never goes back, as `update` may."""
    skipped: str = ""
    """Why the weights were left as they were, where they were."""


@dataclass(frozen=True)
class Validated:
    """One look at the validation set; `best` is the update of the best one so far."""

    update: int
    loss: float
    scored: Scored
    is_best: bool
    best_update: int
    best_value: float
    metric: str
    seconds: float


@dataclass(frozen=True)
class Ended:
    """How training ended: ``finished``, ``no better``, ``terminated``, ``interrupted`` or ``failed``.

    `seconds` and `tokens` are those of this start.
    """

    why: str
    update: int
    seconds: float
    tokens: int
    best_update: int | None
    best_value: float | None
    metric: str

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing left to do; else the run can go on."""
        return self.why in ("finished", "no better")


class Observer(Protocol):
    """Somebody who watches: a screen, a log, curves. Told by the first process only; it must not change anything."""

    def began(self, began: Began) -> None:
        """Updates are about to be made."""

    def updated(self, moment: Moment) -> None:
        """An update was made, or skipped."""

    def validating(self, update: int) -> None:
        """The validation set is about to be looked at, which takes a while."""

    def validated(self, validated: Validated) -> None:
        """The validation set was looked at."""

    def saving(self, update: int) -> None:
        """A checkpoint is about to be written: a run that goes on from it will not say again what was said so far."""

    def saved(self, update: int, folder: Path) -> None:
        """A checkpoint is safe."""

    def noted(self, text: str) -> None:
        """Something happened that a person would want to know."""

    def ended(self, ended: Ended) -> None:
        """No more updates will be made."""


class Observers:
    """Several observers as one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def began(self, began: Began) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.began(began)

    def updated(self, moment: Moment) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.updated(moment)

    def validating(self, update: int) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.validating(update)

    def validated(self, validated: Validated) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.validated(validated)

    def saving(self, update: int) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.saving(update)

    def saved(self, update: int, folder: Path) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.saved(update, folder)

    def noted(self, text: str) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.noted(text)

    def ended(self, ended: Ended) -> None:
        """Tell all of them."""
        for observer in self._observers:
            observer.ended(ended)
