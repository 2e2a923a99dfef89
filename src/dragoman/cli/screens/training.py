"""Show training progress on stderr as lines; on a terminal a bar with the current values is below them."""

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dragoman.reporting.number_format import format_duration
from dragoman.reporting.safe_display_text import without_controls
from dragoman.training.callbacks.events import TrainingEnded, TrainingStarted
from dragoman.training.callbacks.status import TrainingDisplay, progress_line

_REDRAWN = 2  # per second
_WIDEST = 110
_STYLES = {"✓": "green", "!": "yellow"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise: rich would end the process, and with it the training."""
        raise BrokenPipeError


class TrainingScreen(TrainingDisplay):
    """Display of training on stderr: a callback and a context manager."""

    def __init__(self, console: Console | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        # Without `force_terminal` rich takes a log for a terminal if an environment variable is set.
        self._console = console = console or _Console(stderr=True, force_terminal=sys.stderr.isatty())
        self._can_draw = console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")
        self._live: Live | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unless_closed(self._stop)

    def on_start(self, started: TrainingStarted) -> None:
        self._unless_closed(self._stop)  # of a training that was started again
        super().on_start(started)
        if self._can_draw:
            self.next_line = math.inf  # a thread draws the bar
            self._unless_closed(self._start)

    def on_end(self, ended: TrainingEnded) -> None:
        self._unless_closed(self._stop)
        super().on_end(ended)

    def draw(self) -> Text:
        """Return the bar and the current values."""
        status, now = self.status, self.clock()
        if status is None:
            return Text()
        width = min(self._console.width, _WIDEST)
        done = int(width * status.share)
        since = status.validating_since
        activity = "" if since is None else f"validating for {format_duration(now - since)}  "
        values = activity + progress_line(status, now)
        return Text.assemble(("━" * done, "green"), ("─" * (width - done), "dim"), "\n", values)

    def _start(self) -> None:
        self._live = Live(
            console=self._console,
            get_renderable=self.draw,
            refresh_per_second=_REDRAWN,
            redirect_stdout=False,  # results stay on stdout
            transient=True,
        )
        self._live.start()

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def show(self, mark: str, text: str) -> None:
        line = Text(f"{mark} " if mark else "", style=_STYLES.get(mark, "dim")).append(
            without_controls(text), "default"
        )
        self._unless_closed(lambda: self._console.print(line, soft_wrap=True))

    def _unless_closed(self, show: Callable[[], object]) -> None:
        """Show something, unless the terminal or the pipe was closed; training continues."""
        try:
            if not self._is_closed:
                show()
        except OSError:
            self._is_closed = True
            with suppress(OSError):
                self._stop()  # its thread would draw on
