"""Follow the stages of long-running work: rate and remaining time, which is smoothed, because the rate varies."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from dragoman.reporting.number_format import format_compact, format_count, format_duration, format_remaining
from dragoman.reporting.safe_display_text import visible

_WINDOW = 60.0  # seconds over which the rate is measured: work done before an interruption counts at once
_SMOOTHING = 20.0  # seconds after which the remaining time has followed 63 % of a change
_MAX_NAME = 60
_MAX_FACTOR = 4.0  # a larger change is followed at once: it is no variation of the rate


@dataclass
class RemainingTime:
    """Exponentially smoothed estimate of the remaining seconds."""

    _seconds: float | None = None
    _time: float = 0.0

    def update(self, now: float, estimate: float) -> float:
        """Return the smoothed remaining time, given the estimate at this time."""
        passed, self._time = max(0.0, now - self._time), now
        expected = None if self._seconds is None else self._seconds - passed
        if expected is None or not estimate / _MAX_FACTOR < expected < estimate * _MAX_FACTOR:
            self._seconds = estimate
        else:
            self._seconds = expected + (estimate - expected) * (1 - math.exp(-passed / _SMOOTHING))
        return self._seconds


@dataclass
class StageProgress:
    """Progress and rate of one stage."""

    name: str
    began: float
    unit: str = "pair"
    share: float | None = 0.0  # None: unknown
    pairs: int = 0
    before: tuple[float, int] = (0.0, 0)  # share and pairs of earlier runs; grows as their files are found
    now: float = 0.0
    seen: deque[tuple[float, float, int]] = field(default_factory=deque)
    """Times with share and pairs of this run, within the window."""
    seconds_left: float | None = None
    _remaining: RemainingTime = field(default_factory=RemainingTime)

    def sample(self, now: float) -> None:
        self.now = now
        self.seen.append((now, *self._own()))
        while len(self.seen) > 2 and self.seen[1][0] < now - _WINDOW:
            self.seen.popleft()
        seconds, share, _ = self._since()
        self.seconds_left = None
        if self.share is not None and seconds > 0 and share > 0:
            self.seconds_left = self._remaining.update(now, seconds * (1 - self.share) / share)

    def _own(self) -> tuple[float, int]:
        """Return share and pairs of this run."""
        return (self.share or 0.0) - self.before[0], self.pairs - self.before[1]

    def _since(self) -> tuple[float, float, int]:
        """Return seconds, share and pairs since the start of the window."""
        time_, share, pairs = self.seen[0] if len(self.seen) > 1 else (self.began, 0.0, 0)
        now_share, now_pairs = self._own()
        return self.now - time_, now_share - share, now_pairs - pairs

    @property
    def rate(self) -> str:
        """Pairs per second, or empty if unknown."""
        seconds, _, pairs = self._since()
        return f"{format_compact(pairs / seconds)}/s" if seconds > 0 and pairs > 0 else ""

    @property
    def left(self) -> str:
        """Remaining time at the last sample, or empty if unknown."""
        return "" if self.seconds_left is None else f"{format_remaining(self.seconds_left)} left"

    @property
    def done(self) -> str:
        """Number of pairs, or empty if the stage does not count them."""
        return format_count(self.pairs, self.unit) if self.pairs else ""

    @property
    def summary(self) -> str:
        """Number of pairs at the end, with those of earlier runs."""
        earlier = self.before[1]
        return f"{self.done}, {earlier:,} of them in earlier runs" if earlier and self.done else self.done


class StageView(Protocol):
    """Shows stages, for instance in a terminal."""

    every: float
    """Seconds between updates."""
    gap: str
    """Text between the facts about a finished stage."""

    def begin(self, stage: StageProgress) -> None:
        """Show a new stage."""

    def update(self, stage: StageProgress) -> None:
        """Show the progress of the current stage."""

    def end(self) -> None:
        """Remove the current stage."""

    def print(self, mark: str, text: str) -> None:
        """Show a finished stage."""


class LineView:
    """Shows stages as few plain lines; with `is_quiet` nothing of a stage that ends before its first update."""

    every, gap = 10.0, "  "

    def __init__(self, write: Callable[[str], object], *, is_quiet: bool = False) -> None:
        self._write, self._is_quiet = write, is_quiet

    def begin(self, stage: StageProgress) -> None:
        if not self._is_quiet:
            self._write(f"{stage.name} …")

    def update(self, stage: StageProgress) -> None:
        """Show the progress, unless the stage is complete."""
        if stage.share is not None and stage.share >= 1.0:
            return
        self._is_quiet = False
        share = "" if stage.share is None else f"{stage.share:.0%}".replace("%", " %")
        parts = (share, stage.done, stage.rate, stage.left)
        self._write(f"  {stage.name}: {', '.join(part for part in parts if part)}")

    def end(self) -> None:
        """Do nothing."""

    def print(self, mark: str, text: str) -> None:
        if not self._is_quiet:
            self._write(f"{mark} {text}")


class StageTracker:
    """Shows the stages of long work in a view: a `dragoman.progress.Progress`. Only a few of its updates are shown."""

    def __init__(self, view: StageView, unit: str, clock: Callable[[], float]) -> None:
        """Create a tracker that counts in `unit`."""
        self._view, self._unit, self._clock = view, unit, clock
        self._stage: StageProgress | None = None
        self._shown = 0.0

    def begin(self, stage: str, *, share: float = 0.0, pairs: int = 0) -> None:
        """Finish the previous stage and begin one; `share` and `pairs` were done before."""
        self.finish()
        now = self._clock()
        self._stage = StageProgress(visible(stage, _MAX_NAME), now, self._unit, share, pairs, (share, pairs), now)
        self._shown = now
        self._view.begin(self._stage)

    def advance(self, share: float | None, pairs: int = 0, *, before: tuple[float, int] | None = None) -> None:
        """Set the progress of the current stage, None if unknown; `before` are share and pairs of earlier runs."""
        stage, now = self._stage, self._clock()
        if stage is None:
            return
        if before is not None:
            stage.before = before
        stage.share, stage.pairs = None if share is None else min(max(share, 0.0), 1.0), pairs
        if now - self._shown >= self._view.every:
            self._shown = now
            stage.sample(now)
            self._view.update(stage)

    def skip(self, stage: str) -> None:
        """Finish the previous stage and show a stage without work."""
        self.finish()
        self._view.print("–", f"{visible(stage, _MAX_NAME)}: done before")

    def finish(self, *, stopped: bool = False) -> None:
        """Show the end of the current stage."""
        stage, self._stage = self._stage, None
        if stage is None:
            return
        self._view.end()
        took = format_duration(self._clock() - stage.began)
        if stopped:
            self._view.print("✗", f"{stage.name}: stopped after {took}")
        else:
            self._view.print("✓", self._view.gap.join(part for part in (stage.name, stage.summary, took) if part))
