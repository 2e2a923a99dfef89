"""Result of an experiment: a guarantee, its targets, and its control experiment."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.serving.task import signature

SHOWN = 5


@dataclass(frozen=True)
class Target:
    """A target and its result."""

    what: str
    goal: str
    found: str
    is_met: bool


@dataclass
class ExperimentResult:
    """A guarantee. `control` names the planted fault, which must make a target fail."""

    promise: str
    trials: int = 0
    targets: list[Target] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    control: str = ""
    is_control_found: bool | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    share: float = 1.0
    """Part of the full number of trials that was made."""
    signature: dict[str, str] = field(default_factory=signature)

    def target(self, what: str, goal: str, found: str, is_met: bool) -> None:
        self.targets.append(Target(what, goal, found, bool(is_met)))

    def fail(self, what: str) -> None:
        """Record a failed trial; all are counted, and the first ones stored."""
        self.failures.append(what)

    def no_failures(self, what: str) -> None:
        """Add the target of no failures."""
        shown = f"{len(self.failures)}" + (f", first: {self.failures[0][:200]}" if self.failures else "")
        self.target(what, "0", shown, not self.failures)

    def set_control(self, fault: str, control: ExperimentResult) -> None:
        """Set the result of the control: its row must have missed a target."""
        missed = [target for target in control.targets if not target.is_met]
        self.is_control_found = bool(missed)
        self.control = f"{fault}: " + (f"found ({missed[0].what}: {missed[0].found})" if missed else "NOT FOUND")

    @property
    def is_passed(self) -> bool:
        return all(target.is_met for target in self.targets) and self.is_control_found is not False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "failures": self.failures[:SHOWN], "failed": len(self.failures)}
