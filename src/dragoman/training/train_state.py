"""Training progress that is saved with weights and optimizer state: update number, best score, rollbacks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from dragoman.training.divergence import DivergenceMonitor
from dragoman.training.validator import BestScore


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
        """JSON values."""
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
