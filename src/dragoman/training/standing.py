"""How far a training is: what is carried from one update to the next beside weights and optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from dragoman.training.guard import Guard
from dragoman.training.validation import Best

__all__ = ["Standing"]


@dataclass(frozen=True)
class Standing:
    """Plain values, the same on all processes, saved with each checkpoint. They depend on no clock and on no stop."""

    update: int = 0
    tokens: int = 0
    validated: int = 0
    """The update of the last validation that was finished."""
    baseline: float | None = None
    guard: Guard = field(default_factory=Guard)
    best: Best | None = None
    kept: tuple[int, ...] = ()
    """The newest checkpoints that were due, not those of a stop: what is averaged."""
    sound: int = 0
    """The newest of them that no bad update came right before: where the run goes back to when the weights are bad."""
    returns: int = 0
    """How often the run went back since a sound checkpoint was due."""

    def with_checkpoint(self, keep_last: int) -> Standing:
        """The same once the checkpoint that is due at this update is written."""
        kept = tuple(step for step in self.kept if step != self.update)[-(keep_last - 1) :] if keep_last > 1 else ()
        kept = (*kept, self.update)
        if self.guard.bad:
            return replace(self, kept=kept)
        return replace(self, kept=kept, sound=self.update, returns=0)

    def gone_back(self, before: Standing) -> Standing:
        """Where `before` stands after a return to a checkpoint that was made at this standing."""
        return replace(self, guard=self.guard.at_peace(), returns=before.returns + 1)

    def worth_keeping(self) -> set[int]:
        """The updates whose checkpoints are to stay."""
        return {*self.kept, self.sound} | (set() if self.best is None else {self.best.update})

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "update": self.update,
            "tokens": self.tokens,
            "validated": self.validated,
            "baseline": self.baseline,
            "guard": self.guard.to_json(),
            "best": None if self.best is None else self.best.to_json(),
            "kept": list(self.kept),
            "sound": self.sound,
            "returns": self.returns,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """From `to_json`."""
        best = value["best"]
        objects = {
            "guard": Guard.from_json(value["guard"]),
            "best": None if best is None else Best.from_json(best),
            "kept": tuple(value["kept"]),
        }
        return cls(**(value | objects))
