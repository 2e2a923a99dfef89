"""What long work tells about itself while it runs."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Somebody who watches. A stage begins, advances and is over when the next one begins."""

    def begin(self, stage: str) -> None:
        """A stage of this name begins."""

    def advance(self, share: float, pairs: int = 0) -> None:
        """The stage is done to this share (0 to 1), and has dealt with so many pairs since it began."""

    def skip(self, stage: str) -> None:
        """A stage has nothing to do: its result is there from before."""


class Silent:
    """Nobody watches."""

    def begin(self, stage: str) -> None:
        """Do nothing."""

    def advance(self, share: float, pairs: int = 0) -> None:
        """Do nothing."""

    def skip(self, stage: str) -> None:
        """Do nothing."""
