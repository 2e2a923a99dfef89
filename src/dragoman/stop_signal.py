"""Handle stop signals: SIGTERM from a scheduler, Ctrl-C from a user."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

STOP_REASONS = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}
_REPEAT_SECONDS = 0.01


def handle_in_loop(loop: AbstractEventLoop, handlers: Mapping[str, Callable[[], None]]) -> None:
    """Call functions in an event loop on signals, by the name of the signal."""
    for name, handler in handlers.items():
        loop.add_signal_handler(signal.Signals[name], handler)


class Terminated(KeyboardInterrupt):
    """Raised in the main thread by SIGTERM, as KeyboardInterrupt is by Ctrl-C."""


def raise_on_sigterm() -> None:
    """Let SIGTERM raise `Terminated` in this process, so that child processes and locks are released.

    Python ignores exceptions in destructors and weak references; a signal that arrives there is sent again.
    """
    if threading.current_thread() is threading.main_thread():  # Python allows signal handlers only there
        signal.signal(signal.SIGTERM, _raise_terminated)
        sys.unraisablehook = functools.partial(_repeat_ignored_signal, sys.unraisablehook)


def _raise_terminated(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
    raise Terminated


def _repeat_ignored_signal(report: Callable[[sys.UnraisableHookArgs], None], ignored: sys.UnraisableHookArgs) -> None:
    if not isinstance(ignored.exc_value, Terminated):
        report(ignored)
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _raise_terminated)
    threading.Timer(_REPEAT_SECONDS, os.kill, (os.getpid(), signal.SIGTERM)).start()


class StopRequested(Exception):  # noqa: N818 -- not an error: the work can be repeated
    """Raised in work that a stop signal cancels."""


class StopSignal:
    """Records a stop signal during a ``with`` block; a second Ctrl-C raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.reason = ""
        """Why the process must stop: a value of `STOP_REASONS`, or empty."""
        self._is_interruptible = False
        self._previous_handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows signal handlers only there
            self._previous_handlers = {number: signal.signal(number, self._handle) for number in STOP_REASONS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._previous_handlers = {}

    def request(self, reason: str) -> None:
        """Stop as after a signal; `reason` is a value of `STOP_REASONS`. Another thread may call this."""
        self.reason = reason

    def check(self) -> None:
        """Raise `StopRequested` after a stop signal."""
        if self.reason:
            raise StopRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While this block runs, a stop signal raises `StopRequested` inside it immediately."""
        self._is_interruptible = True
        try:
            self.check()
            yield
        finally:
            self._is_interruptible = False

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.reason and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = STOP_REASONS[signal.Signals(number)]
        if self._is_interruptible:
            self._is_interruptible = False
            raise StopRequested
