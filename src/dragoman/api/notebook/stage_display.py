"""Show the progress of preparation, evaluation and translation in a notebook, as lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from dragoman.progress import NoProgress, Progress
from dragoman.reporting.stage_progress import LineView, StageTracker

_one_display = Lock()


def in_notebook() -> bool:
    """Whether this process is an IPython kernel. A kernel has imported IPython, so nothing is imported here."""
    ipython = sys.modules.get("IPython")
    get_shell = getattr(ipython, "get_ipython", None)
    return get_shell is not None and getattr(get_shell(), "kernel", None) is not None


@contextmanager
def shown_progress(given: Progress | None, *, unit: str = "pair", is_quiet: bool = False) -> Iterator[Progress]:
    """Return the given progress; without one, lines in a notebook, and no progress elsewhere.

    Work that is part of other work with a display has none of its own. `is_quiet` shows only work that takes long.
    """
    if given is not None or not in_notebook() or not _one_display.acquire(blocking=False):
        yield given or NoProgress()
        return
    tracker = StageTracker(LineView(lambda line: print(line, flush=True), is_quiet=is_quiet), unit, time.monotonic)  # noqa: T201 -- the output of a cell
    is_complete = False
    try:
        yield tracker
        is_complete = True
    finally:
        tracker.finish(stopped=not is_complete)
        _one_display.release()
