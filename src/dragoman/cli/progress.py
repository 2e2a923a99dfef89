"""What long work shows while it runs: a bar on a terminal, now and then a line elsewhere. All of it goes to stderr."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from dragoman.data.check.figures import brief, counted, duration
from dragoman.data.check.visible import visible

__all__ = ["ScreenProgress"]

_WINDOW = 30.0  # seconds over which speed is measured: what was done before an interruption comes back at once
_REDRAWN = 0.1  # seconds between two looks at the numbers of a bar
_LINES = 10.0  # seconds between two lines where there is no terminal
_NAME = 60


@dataclass
class _Pace:
    """How far a stage is, and how fast it goes."""

    stage: str
    began: float
    unit: str = "pair"
    share: float | None = 0.0  # None: nobody knows how much there will be
    pairs: int = 0
    before: tuple[float, int] = (0.0, 0)  # share and pairs that an earlier run had done
    now: float = 0.0
    seen: deque[tuple[float, float, int]] = field(default_factory=deque)
    """Times, with share and pairs at each, of the last while."""

    def look(self, now: float) -> None:
        """Remember where the stage is now."""
        self.now = now
        self.seen.append((now, self.share or 0.0, self.pairs))
        while len(self.seen) > 2 and self.seen[1][0] < now - _WINDOW:
            self.seen.popleft()

    def _since(self) -> tuple[float, float, int]:
        """Seconds, share and pairs since the beginning of the window."""
        time_, share, pairs = self.seen[0] if len(self.seen) > 1 else (self.began, *self.before)
        return self.now - time_, (self.share or 0.0) - share, self.pairs - pairs

    @property
    def rate(self) -> str:
        """Pairs a second, if anything is known about it."""
        seconds, _, pairs = self._since()
        return f"{brief(pairs / seconds)}/s" if seconds > 0 and pairs > 0 else ""

    @property
    def left(self) -> str:
        """How long the stage will take yet, if anything is known about it."""
        seconds, share, _ = self._since()
        if self.share is None or seconds <= 0 or share <= 0:
            return ""
        return f"{duration(seconds * (1 - self.share) / share)} left"

    @property
    def done(self) -> str:
        """Pairs dealt with, if the stage counts them."""
        return counted(self.pairs, self.unit) if self.pairs else ""


class _View(Protocol):
    """Where progress is shown."""

    every: float
    """Seconds between two updates."""

    def begin(self, pace: _Pace) -> None: ...
    def update(self, pace: _Pace) -> None: ...
    def end(self) -> None: ...
    def say(self, mark: str, text: str) -> None: ...


class _Bar:
    """A terminal: the running stage has a bar, and finished ones are a line each above it."""

    every = _REDRAWN

    def __init__(self, console: Console) -> None:
        name = Column(ratio=3, no_wrap=True, overflow="ellipsis")
        self._live = Progress(
            TextColumn("{task.description}", markup=False, table_column=name),
            BarColumn(bar_width=None, table_column=Column(ratio=2)),
            TextColumn("{task.fields[counted]}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),  # ticks even while a stage has nothing to say
            TextColumn("{task.fields[left]}", markup=False, style="dim", table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            redirect_stdout=False,  # results stay on stdout
            refresh_per_second=4,
            expand=True,
        )
        self._console = console
        self._task = TaskID(0)

    def begin(self, pace: _Pace) -> None:
        """Show a bar that says only that something runs, until it is known how far it is."""
        self._task = self._live.add_task(pace.stage, total=None, counted="", left="")
        self._live.start()

    def update(self, pace: _Pace) -> None:
        """Set the bar; it is drawn by a thread of its own."""
        numbers = "  ".join(part for part in (pace.done, pace.rate) if part)
        total, share = (1.0, pace.share) if pace.share is not None else (None, 0.0)
        self._live.update(self._task, total=total, completed=share, counted=numbers, left=pace.left)

    def end(self) -> None:
        """Take the bar away."""
        self._live.stop()
        self._live.remove_task(self._task)

    def say(self, mark: str, text: str) -> None:
        """A line that stays."""
        style = {"✓": "green", "✗": "red"}.get(mark, "dim")
        self._console.print(Text(mark, style=style).append(f" {text}", style="default"), soft_wrap=True)


class _Lines:
    """No terminal: a log, say. Plain lines, few of them."""

    every = _LINES

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, pace: _Pace) -> None:
        """Name the stage."""
        self._print(f"{pace.stage} …")

    def update(self, pace: _Pace) -> None:
        """Say how far it is, unless its last line is about to come."""
        if pace.share is not None and pace.share >= 1.0:
            return
        share = "" if pace.share is None else f"{pace.share:.0%}".replace("%", " %")
        parts = (share, pace.done, pace.rate, pace.left)
        self._print(f"  {pace.stage}: {', '.join(part for part in parts if part)}")

    def end(self) -> None:
        """Nothing is left open."""

    def say(self, mark: str, text: str) -> None:
        """A line that says how a stage ended."""
        self._print(f"{mark} {text}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class ScreenProgress:
    """Shows the stages of long work, as a `dragoman.data.progress.Progress`; used in a ``with`` statement.

    It costs next to nothing to tell it about every step: most of what it is told it only remembers.
    """

    def __init__(
        self, console: Console | None = None, *, unit: str = "pair", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`unit` is what is counted."""
        # Without `force_terminal` rich would take an environment variable's word for it that a log is a terminal.
        console = console or Console(stderr=True, force_terminal=sys.stderr.isatty())
        self._view: _View = _Bar(console) if console.is_terminal and not console.is_dumb_terminal else _Lines(console)
        self._clock, self._unit = clock, unit
        self._pace: _Pace | None = None
        self._shown = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(stopped=kind is not None)

    def begin(self, stage: str, *, share: float = 0.0, pairs: int = 0) -> None:
        """A stage begins, of which so much was done before, and the one before it is over."""
        self._finish()
        now = self._clock()
        self._pace = _Pace(visible(stage, _NAME), now, self._unit, share, pairs, (share, pairs), now)
        self._shown = now
        self._view.begin(self._pace)

    def advance(self, share: float | None, pairs: int = 0) -> None:
        """The running stage is done to this share, if that is known, and has dealt with so many pairs."""
        pace, now = self._pace, self._clock()
        if pace is None:
            return
        pace.share, pace.pairs = None if share is None else min(max(share, 0.0), 1.0), pairs
        if now - self._shown >= self._view.every:
            self._shown = now
            pace.look(now)
            self._view.update(pace)

    def skip(self, stage: str) -> None:
        """A stage has nothing to do, and the one before it is over."""
        self._finish()
        self._view.say("–", f"{visible(stage, _NAME)}: done before")

    def _finish(self, *, stopped: bool = False) -> None:
        pace, self._pace = self._pace, None
        if pace is None:
            return
        self._view.end()
        took = duration(self._clock() - pace.began)
        if stopped:
            self._view.say("✗", f"{pace.stage}: stopped after {took}")
        else:
            self._view.say("✓", "  ".join(part for part in (pace.stage, pace.done, took) if part))
