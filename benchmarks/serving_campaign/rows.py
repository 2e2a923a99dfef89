"""A row of the report: what was promised, what was found, and whether a planted fault was."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.serving.task import signature

__all__ = ["Row", "Target"]

SHOWN = 5


@dataclass(frozen=True)
class Target:
    """A thing that is promised, and what was found."""

    what: str
    goal: str
    found: str
    is_met: bool


@dataclass
class Row:
    """A promise. `control` says which fault was planted; it must be found, as a target that is missed."""

    promise: str
    trials: int = 0
    targets: list[Target] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    control: str = ""
    is_control_found: bool | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    signature: dict[str, str] = field(default_factory=signature)

    def target(self, what: str, goal: str, found: str, is_met: bool) -> None:
        self.targets.append(Target(what, goal, found, bool(is_met)))

    def fail(self, what: str) -> None:
        """One trial in which something broke; only some are kept, all are counted."""
        self.failures.append(what)

    def no_failures(self, what: str) -> None:
        """The target that nothing broke."""
        shown = f"{len(self.failures)}" + (f", first: {self.failures[0][:200]}" if self.failures else "")
        self.target(what, "0", shown, not self.failures)

    def controlled(self, fault: str, control: Row) -> None:
        """Take the row of a run with a planted fault: it must have missed something."""
        missed = [target for target in control.targets if not target.is_met]
        self.is_control_found = bool(missed)
        self.control = f"{fault}: " + (f"found ({missed[0].what}: {missed[0].found})" if missed else "NOT FOUND")

    @property
    def is_kept(self) -> bool:
        return all(target.is_met for target in self.targets) and self.is_control_found is not False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "failures": self.failures[:SHOWN], "failed": len(self.failures)}
