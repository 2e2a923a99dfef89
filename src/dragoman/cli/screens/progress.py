"""Show progress on stderr: a bar on a terminal, log lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from dragoman.reporting.safe_display_text import without_controls
from dragoman.reporting.stage_progress import LineView, StageProgress, StageTracker

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.api.files.file_translation import FileProgress, OnProgress

_BAR_INTERVAL = 0.1  # seconds between updates of a bar


class _Bar:
    """Output on a terminal: a bar for the current stage, one line per finished stage above it."""

    every, gap = _BAR_INTERVAL, "  "

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
        from rich.table import Column

        name = Column(ratio=3, no_wrap=True, overflow="ellipsis")
        self._live = Progress(
            TextColumn("{task.description}", markup=False, table_column=name),
            BarColumn(bar_width=None, table_column=Column(ratio=2)),
            TextColumn("{task.fields[counted]}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),  # changes even without progress
            TextColumn("{task.fields[left]}", markup=False, style="dim", table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            redirect_stdout=False,  # results stay on stdout
            refresh_per_second=4,
            expand=True,
        )
        self._console = console
        self._task = TaskID(0)

    def begin(self, stage: StageProgress) -> None:
        """Show a bar without a share until there is one."""
        self._task = self._live.add_task(stage.name, total=None, counted="", left="")
        self._live.start()

    def update(self, stage: StageProgress) -> None:
        """Update the bar; a separate thread draws it."""
        numbers = "  ".join(part for part in (stage.done, stage.rate) if part)
        total, share = (1.0, stage.share) if stage.share is not None else (None, 0.0)
        self._live.update(self._task, total=total, completed=share, counted=numbers, left=stage.left)

    def end(self) -> None:
        self._live.stop()
        self._live.remove_task(self._task)

    def print(self, mark: str, text: str) -> None:
        from rich.text import Text

        style = {"✓": "green", "✗": "red"}.get(mark, "dim")
        self._console.print(
            Text(mark, style=style).append(f" {without_controls(text)}", style="default"), soft_wrap=True
        )


class ProgressDisplay(StageTracker):
    """Display of the stages of long work: a `dragoman.progress.Progress` and a context manager."""

    def __init__(
        self, console: Console | None = None, *, unit: str = "pair", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Create a display that counts in `unit`."""
        if console is None and sys.stderr.isatty():
            from rich.console import Console  # takes time; rich also takes a log for a terminal with some variables

            console = Console(stderr=True, force_terminal=True)
        can_draw = console is not None and console.is_terminal and not console.is_dumb_terminal
        file = sys.stderr if console is None else console.file
        lines = LineView(lambda line: print(without_controls(line), file=file, flush=True))
        super().__init__(_Bar(console) if console is not None and can_draw else lines, unit, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.finish(stopped=kind is not None)


@contextmanager
def translation_progress(name: str) -> Iterator[OnProgress]:
    """Display the progress of the translation of the file `name`."""
    with ProgressDisplay(unit="line") as display:
        yield file_progress(display, name)


def file_progress(display: ProgressDisplay, name: str) -> OnProgress:
    """Return a callback that displays the progress of files; the first call has the lines of an earlier run."""
    has_begun, first = False, (0.0, 0)

    def tell(done: FileProgress) -> None:
        nonlocal has_begun, first
        share = done.consumed / done.size if done.size else None
        if not has_begun:
            has_begun, first = True, (share or 0.0, done.lines)
            display.begin(f"translating {name}", share=share or 0.0, pairs=done.lines)
        resumed = done.resumed_bytes / done.size if done.size else 0.0
        display.advance(share, done.lines, before=(first[0] + resumed, first[1] + done.resumed_lines))

    return tell
