"""Being asked to stop: SIGTERM from a scheduler, Ctrl-C from a person."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["STOPS", "StopSignal", "Stopped"]

STOPS = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}


class Stopped(Exception):  # noqa: N818 -- not an error: work that can be done again is left undone
    """Raised inside work that is not worth finishing when the process was asked to stop."""


class StopSignal:
    """Remembers, while its ``with`` block runs, that the process was asked to stop; a second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.asked = ""
        self._may_leave = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python lets no other thread handle signals
            self._before = {number: signal.signal(number, self._ask) for number in STOPS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def check(self) -> None:
        """Leave the work at hand if a stop was asked for."""
        if self.asked:
            raise Stopped

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """While this block runs a stop raises `Stopped` inside it, as soon as Python runs again."""
        self._may_leave = True
        try:
            self.check()
            yield
        finally:
            self._may_leave = False

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = STOPS[signal.Signals(number)]
        if self._may_leave:
            self._may_leave = False
            raise Stopped
