"""Estimate the throughput of the server under full load, in source tokens per second."""

from __future__ import annotations

__all__ = ["ThroughputEstimate"]

_INITIAL_RATE = 1000.0  # source tokens per second and core, until measured
_INITIAL_SECONDS = 0.5  # weight of the initial rate
_HALF_LIFE = 2.0  # seconds of full load after which a measurement has half its weight


class ThroughputEstimate:
    """Moving average of source tokens per second under full load.

    Batches of an idle server are not counted: small batches are slow, and larger ones would not have been.
    """

    def __init__(self, workers: int = 1) -> None:
        self.batch_tokens = 0.0
        """Moving average of the tokens per batch."""
        self._tokens = _INITIAL_RATE * workers * _INITIAL_SECONDS
        self._seconds = _INITIAL_SECONDS

    @property
    def tokens_per_second(self) -> float:
        """The current average."""
        return self._tokens / self._seconds

    def update(self, tokens: int, seconds: float) -> None:
        """Add a measurement: tokens translated in this time while sentences were queued."""
        kept = 0.5 ** (seconds / _HALF_LIFE)
        self.batch_tokens = self.batch_tokens * kept + tokens * (1 - kept)
        self._tokens = self._tokens * kept + tokens
        self._seconds = self._seconds * kept + seconds
