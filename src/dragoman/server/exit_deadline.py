"""End the process at a deadline after a stop signal, even if a thread still works.

Python waits for the threads of executors at its exit, and a search or a document parser in native code cannot be
interrupted. A thread ends the process in that case, after the functions registered with `atexit`, which delete
temporary folders. If they hang, or no thread can run, the default action of SIGALRM ends it.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

_HAS_ALARM = hasattr(signal, "setitimer")  # not on Windows
_ALARM_DELAY = 0.6  # seconds after the deadline
_IDLE_SECONDS = 0.2  # for the threads of closed executors to end
_WORKERS = "dragoman-"  # names of our threads begin with this


class ExitDeadline:
    """Deadline of this process. `start` must be called on the main thread."""

    def __init__(self, on_exit: Callable[[], None] = lambda: None) -> None:
        self._on_exit = on_exit
        self._cancelled = threading.Event()
        self._is_started = False

    def start(self, seconds: float) -> None:
        """Set the deadline; a second call does nothing."""
        if self._is_started:
            return
        self._is_started = True
        if _HAS_ALARM:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds + _ALARM_DELAY)
        threading.Thread(target=self._wait, args=(seconds,), name="dragoman-deadline", daemon=True).start()

    def cancel_if_idle(self) -> None:
        """Cancel the deadline unless a thread still works, for which Python would wait at its exit."""
        if not self._is_started:
            return
        end = time.monotonic() + _IDLE_SECONDS
        while is_working := any(map(_is_working, threading.enumerate())):
            if time.monotonic() > end:
                break
            time.sleep(0.005)
        if not is_working:
            self._cancelled.set()
            if _HAS_ALARM:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _wait(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            return
        with contextlib.suppress(Exception):
            self._on_exit()
            atexit._run_exitfuncs()  # noqa: SLF001 -- `os._exit` omits them
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)


def _is_working(thread: threading.Thread) -> bool:
    is_ours = thread.name.startswith((_WORKERS, "asyncio_"))
    return is_ours and thread.is_alive() and thread.name != "dragoman-deadline"
