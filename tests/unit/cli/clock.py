"""Time for tests of what is shown while time passes."""

from __future__ import annotations


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
