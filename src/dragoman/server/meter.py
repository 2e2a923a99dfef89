"""What the service tells whoever counts: `server.metrics` does, and without it nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["BatchFacts", "Meter", "NoMeter"]


@dataclass(frozen=True)
class BatchFacts:
    """A batch that is done. `waits` are the seconds that each of its sentences had waited for it."""

    model: str
    sentences: int
    pieces_in: int
    pieces_out: int
    seconds: float
    waits: Sequence[float]


class Meter(Protocol):
    """Counts. All calls come from the thread of the event loop, and must not take long."""

    def house(self, requests: int, pieces: int) -> None:
        """So many requests are in the house, and so many source pieces of them wait or are being translated."""

    def queue(self, sentences: int) -> None:
        """So many sentences wait for a batch."""

    def batch(self, facts: BatchFacts) -> None:
        """A batch is done."""

    def flagged(self, flag: str) -> None:
        """A translation that goes out has this quality flag."""

    def shed(self, reason: str) -> None:
        """A request was refused: `Refused.reason`, of those that the service itself refuses."""

    def cancelled(self, sentences: int) -> None:
        """So many sentences were left because nobody waited for them any more."""

    def model(self, name: str, state: str, size: int) -> None:
        """A model now is ready, loading, unloaded or failed, and takes so many bytes."""

    def reloaded(self, name: str, is_good: bool) -> None:
        """A new bundle was found in the place of an old one, and taken or not."""


class NoMeter:
    """Counts nothing."""

    def house(self, requests: int, pieces: int) -> None:
        """See `Meter`."""

    def queue(self, sentences: int) -> None:
        """See `Meter`."""

    def batch(self, facts: BatchFacts) -> None:
        """See `Meter`."""

    def flagged(self, flag: str) -> None:
        """See `Meter`."""

    def shed(self, reason: str) -> None:
        """See `Meter`."""

    def cancelled(self, sentences: int) -> None:
        """See `Meter`."""

    def model(self, name: str, state: str, size: int) -> None:
        """See `Meter`."""

    def reloaded(self, name: str, is_good: bool) -> None:
        """See `Meter`."""
