"""Outputs of notebook cells, and progress bars of preparation, evaluation and translation in them."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from dragoman.progress import NoProgress, Progress
from dragoman.reporting.number_format import format_duration
from dragoman.reporting.safe_display_text import visible
from dragoman.reporting.stage_progress import StageProgress

_INTERVAL = 0.25  # seconds between updates
_MAX_NAME = 60

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


class StageDisplay:
    """Display of the stages of long work: a `Progress`. Finished stages are lines, the current stage has a bar."""

    def __init__(
        self,
        output: CellOutput | None = None,
        *,
        unit: str = "pair",
        delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a display that counts in `unit` and appears after `delay` seconds."""
        self._output, self._unit, self._clock = output or CellOutput(), unit, clock
        self._finished: list[tuple[str, str]] = []
        self._stage: StageProgress | None = None
        self._next = clock() + delay
        self._is_delayed = delay > 0

    def begin(self, stage: str) -> None:
        self._finish("✓")
        now = self._clock()
        self._stage = StageProgress(visible(stage, _MAX_NAME), now, self._unit, now=now)
        if not self._is_delayed:
            self._show(now)

    def advance(self, share: float, pairs: int = 0) -> None:
        stage, now = self._stage, self._clock()
        if stage is None:
            return
        stage.share, stage.pairs = min(max(share, 0.0), 1.0), pairs
        if now >= self._next and share < 1:
            self._is_delayed = False
            stage.sample(now)
            self._show(now)

    def skip(self, stage: str) -> None:
        """Finish the previous stage and add a stage without work."""
        self._finish("✓")
        self._finished.append(("–", f"{visible(stage, _MAX_NAME)}: done before"))

    def end(self, *, stopped: bool = False) -> None:
        self._finish("✗" if stopped else "✓")
        if self._finished and not self._is_delayed:
            self._show(self._clock())

    def _finish(self, mark: str) -> None:
        stage, self._stage = self._stage, None
        if stage is None:
            return
        took = format_duration(self._clock() - stage.began)
        parts = (stage.name, stage.done, took) if mark == "✓" else (stage.name, f"stopped after {took}")
        self._finished.append((mark, " · ".join(part for part in parts if part)))

    def _show(self, now: float) -> None:
        from dragoman.reporting.html import render  # noqa: PLC0415 -- for notebooks

        self._next = now + _INTERVAL
        stage = self._stage
        numbers = " · ".join(part for part in (stage.done, stage.rate, stage.left) if part) if stage else ""
        html = render("notebook_stages.html", finished=self._finished, stage=stage, numbers=numbers)
        lines = [f"{mark} {text}" for mark, text in self._finished]
        if stage is not None:
            lines.append(f"{stage.name}: {stage.share or 0.0:.0%}  {numbers}".rstrip())
        self._output.show(str(html), "\n".join(lines))
