"""Being asked to stop: SIGTERM from a scheduler, Ctrl-C from a person."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["STOPS", "StopSignal", "Stopped"]

STOPS = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}


class Stopped(Exception):  # noqa: N818 -- not an error: work that can be done again is left undone
    """Raised inside long work that is not worth finishing when training was asked to stop."""


class StopSignal:
    """Remembers, while its ``with`` block runs, that the process was asked to stop; a second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.asked = ""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python lets no other thread handle signals
            self._before = {number: signal.signal(number, self._ask) for number in STOPS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = STOPS[signal.Signals(number)]

    def check(self) -> None:
        """Leave the work at hand if a stop was asked for."""
        if self.asked:
            raise Stopped
