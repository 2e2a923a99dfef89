"""Detect diverging updates: a loss that is not finite or far above its recent mean."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

_DECAY = 0.98
_MIN_UPDATES = 100  # good updates before the mean is reliable
_MAX_CONSECUTIVE_BAD = 3


@dataclass(frozen=True)
class DivergenceMonitor:
    """Statistics of the losses so far; an immutable value saved in each checkpoint.

    `mean` is the moving average of the loss over the `good_updates`.
    """

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
        """JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**value)
