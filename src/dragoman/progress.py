"""Protocol of callbacks that receive the progress of long-running work, such as data preparation or evaluation."""

from typing import Protocol


class Progress(Protocol):
    """Receive progress. A stage ends when the next one begins."""

    def begin(self, stage: str) -> None:
        """Begin a stage."""

    def advance(self, share: float, pairs: int = 0) -> None:
        """Report the completed share (0 to 1) of the stage, and the pairs processed since it began."""

    def skip(self, stage: str) -> None:
        """Skip a stage whose result exists."""


class NoProgress:
    """Progress that is not shown."""

    def begin(self, stage: str) -> None:
        """Do nothing."""

    def advance(self, share: float, pairs: int = 0) -> None:
        """Do nothing."""

    def skip(self, stage: str) -> None:
        """Do nothing."""
