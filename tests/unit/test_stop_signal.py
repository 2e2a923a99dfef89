"""Stop signals."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from dragoman.stop_signal import STOP_REASONS, StopRequested, StopSignal, Terminated, raise_on_sigterm


@pytest.mark.parametrize("number", list(STOP_REASONS))
def test_a_signal_is_remembered_and_handlers_are_put_back(number: signal.Signals):
    before = {each: signal.getsignal(each) for each in STOP_REASONS}
    with StopSignal() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        assert stop.reason == STOP_REASONS[number]
        with pytest.raises(StopRequested):
            stop.check()
    assert {each: signal.getsignal(each) for each in STOP_REASONS} == before


def test_a_second_interrupt_stops_at_once_but_a_second_sigterm_does_not():
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.reason == "terminated"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_in_another_thread_signals_are_left_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def work() -> None:
        with StopSignal():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("number", list(STOP_REASONS))
def test_work_is_left_only_where_it_may_be(number: signal.Signals):
    with StopSignal() as stop:
        signal.raise_signal(number)
        with pytest.raises(StopRequested), stop.interruptible():
            raise AssertionError("it must not begin")
    with StopSignal() as stop:
        with pytest.raises(StopRequested), stop.interruptible():
            signal.raise_signal(number)
        assert stop.reason == STOP_REASONS[number]
        if number == signal.SIGTERM:
            signal.raise_signal(number)  # outside it is only remembered


def test_in_another_thread_work_is_done():
    asked: list[str] = []

    def work() -> None:
        with StopSignal() as stop, stop.interruptible():
            asked.append(stop.reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [""]


def test_another_thread_can_request_a_stop():
    with StopSignal() as stop:
        thread = threading.Thread(target=stop.request, args=("terminated",))
        thread.start()
        thread.join()
        with pytest.raises(StopRequested):
            stop.check()
        assert stop.reason == "terminated"


@pytest.fixture
def _restored_handlers() -> Iterator[None]:
    before, hook = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    yield
    signal.signal(signal.SIGTERM, before)
    sys.unraisablehook = hook


@pytest.mark.usefixtures("_restored_handlers")
def test_sigterm_is_raised_once_and_then_ends_the_process():
    raise_on_sigterm()
    with pytest.raises(Terminated):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class _Closed:
    """An object whose destructor is interrupted."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("_restored_handlers")
def test_sigterm_in_a_destructor_is_not_lost():
    raise_on_sigterm()
    with pytest.raises(Terminated):
        _drop_and_wait(_Closed())


def _drop_and_wait(dropped: object) -> None:
    del dropped
    time.sleep(10)


class _Faulty:
    """An object whose destructor fails."""

    def __del__(self) -> None:
        raise ValueError


@pytest.mark.usefixtures("_restored_handlers")
def test_other_ignored_errors_are_reported():
    reported: list[object] = []
    sys.unraisablehook = lambda ignored: reported.append(ignored.exc_type)
    raise_on_sigterm()
    _Faulty()
    assert reported == [ValueError]
