"""Training progress that is saved with the weights, and detection of diverging updates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from dragoman.training.validator import BestScore

_DECAY = 0.98
_MIN_UPDATES = 100  # good updates before the mean is reliable
_MAX_CONSECUTIVE_BAD = 3


@dataclass(frozen=True)
class DivergenceMonitor:
    """Statistics of the losses in each checkpoint; `mean` is the moving average over the `good_updates`."""

    mean: float = 0.0
    good_updates: int = 0
    consecutive_bad: int = 0

    def skip_reason(self, loss: float, gradient_norm: float, spike: float) -> str:
        """Why an update must be skipped; empty if it is good."""
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        if not math.isfinite(gradient_norm):
            return f"the norm of the gradient is {gradient_norm}"
        if spike and self.good_updates >= _MIN_UPDATES and loss > self.mean + spike:
            return f"the loss is {loss:.2f}, more than {spike:g} above the recent mean of {self.mean:.2f}"
        return ""

    def after(self, loss: float, *, skipped: bool) -> DivergenceMonitor:
        """The statistics after one more update."""
        if skipped:
            return replace(self, consecutive_bad=self.consecutive_bad + 1)
        decay = min(_DECAY, self.good_updates / (self.good_updates + 1))
        return DivergenceMonitor(decay * self.mean + (1.0 - decay) * loss, self.good_updates + 1)

    @property
    def should_roll_back(self) -> bool:
        """Whether the weights themselves are probably bad: too many bad updates in a row."""
        return self.consecutive_bad >= _MAX_CONSECUTIVE_BAD

    def reset(self) -> DivergenceMonitor:
        """The same statistics without bad updates, for use after a rollback."""
        return replace(self, consecutive_bad=0)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**value)


@dataclass(frozen=True)
class TrainState:
    """Progress of a run: equal on all ranks, saved in each checkpoint, independent of time and of interruptions."""

    update: int = 0
    tokens: int = 0
    last_validated: int = 0
    """The update of the last complete validation."""
    baseline: float | None = None
    divergence: DivergenceMonitor = field(default_factory=DivergenceMonitor)
    best: BestScore | None = None
    checkpoints: tuple[int, ...] = ()
    """The newest scheduled checkpoints, without those written at an interruption: these are averaged."""
    last_good: int = 0
    """The newest scheduled checkpoint without a bad update right before it: the target of a rollback."""
    rollbacks: int = 0
    """Rollbacks since the last good checkpoint."""

    def with_checkpoint(self, keep_last: int) -> TrainState:
        """Record a scheduled checkpoint at this update."""
        older = tuple(step for step in self.checkpoints if step != self.update)[-(keep_last - 1) :]
        checkpoints = (*(older if keep_last > 1 else ()), self.update)
        if self.divergence.consecutive_bad:
            return replace(self, checkpoints=checkpoints)
        return replace(self, checkpoints=checkpoints, last_good=self.update, rollbacks=0)

    def rolled_back_from(self, later: TrainState) -> TrainState:
        """The state after a rollback from `later` to this state."""
        return replace(self, divergence=self.divergence.reset(), rollbacks=later.rollbacks + 1)

    def updates_to_keep(self) -> set[int]:
        """The updates whose checkpoints must not be removed."""
        return {*self.checkpoints, self.last_good} | (set() if self.best is None else {self.best.update})

    def to_json(self) -> dict[str, Any]:
        return {
            "update": self.update,
            "tokens": self.tokens,
            "last_validated": self.last_validated,
            "baseline": self.baseline,
            "divergence": self.divergence.to_json(),
            "best": None if self.best is None else self.best.to_json(),
            "checkpoints": list(self.checkpoints),
            "last_good": self.last_good,
            "rollbacks": self.rollbacks,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        best = value["best"]
        objects = {
            "divergence": DivergenceMonitor.from_json(value["divergence"]),
            "best": None if best is None else BestScore.from_json(best),
            "checkpoints": tuple(value["checkpoints"]),
        }
        return cls(**(value | objects))
