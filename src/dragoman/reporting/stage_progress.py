"""Rate and remaining time of one stage of long-running work."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from dragoman.reporting.number_format import format_compact, format_count, format_duration

__all__ = ["StageProgress"]

_WINDOW = 30.0  # seconds over which the rate is measured: work done before an interruption counts at once


@dataclass
class StageProgress:
    """Progress and rate of one stage."""

    name: str
    began: float
    unit: str = "pair"
    share: float | None = 0.0  # None: unknown
    pairs: int = 0
    before: tuple[float, int] = (0.0, 0)  # share and pairs of an earlier run
    now: float = 0.0
    seen: deque[tuple[float, float, int]] = field(default_factory=deque)
    """Times with share and pairs, within the window."""

    def sample(self, now: float) -> None:
        """Record the progress at this time."""
        self.now = now
        self.seen.append((now, self.share or 0.0, self.pairs))
        while len(self.seen) > 2 and self.seen[1][0] < now - _WINDOW:
            self.seen.popleft()

    def _since(self) -> tuple[float, float, int]:
        """Return seconds, share and pairs since the start of the window."""
        time_, share, pairs = self.seen[0] if len(self.seen) > 1 else (self.began, *self.before)
        return self.now - time_, (self.share or 0.0) - share, self.pairs - pairs

    @property
    def rate(self) -> str:
        """Pairs per second, or empty if unknown."""
        seconds, _, pairs = self._since()
        return f"{format_compact(pairs / seconds)}/s" if seconds > 0 and pairs > 0 else ""

    @property
    def left(self) -> str:
        """Remaining time, or empty if unknown."""
        seconds, share, _ = self._since()
        if self.share is None or seconds <= 0 or share <= 0:
            return ""
        return f"{format_duration(seconds * (1 - self.share) / share)} left"

    @property
    def done(self) -> str:
        """Number of pairs, or empty if the stage does not count them."""
        return format_count(self.pairs, self.unit) if self.pairs else ""
