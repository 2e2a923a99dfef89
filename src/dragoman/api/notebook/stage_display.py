"""Outputs of notebook cells, and progress bars of preparation, evaluation and translation in them."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from dragoman.progress import NoProgress, Progress
from dragoman.reporting.stage_progress import StageProgress, StageTracker

_INTERVAL = 0.25  # seconds between updates

_one_display = Lock()


def in_notebook() -> bool:
    """Whether this process is an IPython kernel. A kernel has imported IPython, so nothing is imported here."""
    ipython = sys.modules.get("IPython")
    get_shell = getattr(ipython, "get_ipython", None)
    return get_shell is not None and getattr(get_shell(), "kernel", None) is not None


class CellOutput:
    """An output of the current cell. Only its last content is saved with the notebook."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, html: str, text: str) -> None:
        """Show HTML, or `text` where HTML cannot be shown, in place of the content so far."""
        content = {"text/html": html, "text/plain": text}
        if self._handle is None:
            from IPython.display import display  # noqa: PLC0415 -- only a kernel has IPython

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


@contextmanager
def shown_progress(given: Progress | None, *, unit: str = "pair", delay: float = 0.0) -> Iterator[Progress]:
    """Return the given progress; without one, a display in a notebook, and no progress elsewhere.

    Work that is part of other work with a display has none of its own. The display appears after `delay` seconds.
    """
    if given is not None or not in_notebook() or not _one_display.acquire(blocking=False):
        yield given or NoProgress()
        return
    display = StageDisplay(unit=unit, delay=delay)
    try:
        yield display
    except BaseException:
        display.end(stopped=True)
        raise
    else:
        display.end()
    finally:
        _one_display.release()


class _CellView:
    """Shows stages in a cell: finished ones are lines, the current one has a bar; nothing before the time `begins`."""

    every, gap = _INTERVAL, " · "

    def __init__(self, output: CellOutput, begins: float, *, is_delayed: bool) -> None:
        self._output, self._begins, self._is_delayed = output, begins, is_delayed
        self._finished: list[tuple[str, str]] = []

    def begin(self, stage: StageProgress) -> None:
        if not self._is_delayed:
            self._show(stage)

    def update(self, stage: StageProgress) -> None:
        if stage.now >= self._begins and (stage.share or 0.0) < 1:
            self._is_delayed = False
            self._show(stage)

    def end(self) -> None:
        """Do nothing: what follows replaces the content."""

    def print(self, mark: str, text: str) -> None:
        self._finished.append((mark, text))

    def close(self) -> None:
        if self._finished and not self._is_delayed:
            self._show(None)

    def _show(self, stage: StageProgress | None) -> None:
        from dragoman.reporting.html import render  # noqa: PLC0415 -- for notebooks

        numbers = self.gap.join(part for part in (stage.done, stage.rate, stage.left) if part) if stage else ""
        html = render("notebook_stages.html", finished=self._finished, stage=stage, numbers=numbers)
        lines = [f"{mark} {text}" for mark, text in self._finished]
        if stage is not None:
            lines.append(f"{stage.name}: {stage.share or 0.0:.0%}  {numbers}".rstrip())
        self._output.show(str(html), "\n".join(lines))


class StageDisplay(StageTracker):
    """Display of the stages of long work in a notebook: a `Progress`."""

    def __init__(
        self,
        output: CellOutput | None = None,
        *,
        unit: str = "pair",
        delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a display that counts in `unit` and appears after `delay` seconds."""
        self._cell = _CellView(output or CellOutput(), clock() + delay, is_delayed=delay > 0)
        super().__init__(self._cell, unit, clock)

    def end(self, *, stopped: bool = False) -> None:
        self.finish(stopped=stopped)
        self._cell.close()
