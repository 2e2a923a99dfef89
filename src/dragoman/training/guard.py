"""Updates that must not reach the weights: losses that are not finite, or far above what they were a moment ago."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

__all__ = ["Guard"]

_MEMORY = 0.98
_SETTLED = 100  # good updates after which the mean says something
_ROW = 3


@dataclass(frozen=True)
class Guard:
    """What is known about the losses so far; a value that is saved with each checkpoint.

    `mean` is the moving average of the loss over the `seen` good updates, `bad` counts bad ones in a row.
    """

    mean: float = 0.0
    seen: int = 0
    bad: int = 0

    def objection(self, loss: float, gradient_norm: float, spike: float) -> str:
        """Why an update must be skipped; empty where it need not be."""
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        if not math.isfinite(gradient_norm):
            return f"the norm of the gradient is {gradient_norm}"
        if spike and self.seen >= _SETTLED and loss > self.mean + spike:
            return f"the loss is {loss:.2f}, more than {spike:g} above the recent mean of {self.mean:.2f}"
        return ""

    def after(self, loss: float, *, skipped: bool) -> Guard:
        """What is known after one more update."""
        if skipped:
            return replace(self, bad=self.bad + 1)
        memory = min(_MEMORY, self.seen / (self.seen + 1))
        return Guard(memory * self.mean + (1.0 - memory) * loss, self.seen + 1)

    @property
    def wants_back(self) -> bool:
        """Whether so many updates in a row were bad that the weights themselves are to be doubted."""
        return self.bad >= _ROW

    def at_peace(self) -> Guard:
        """The same with no bad updates in a row: the weights are others."""
        return replace(self, bad=0)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """From `to_json`."""
        return cls(**value)
