"""Being asked to stop."""

import os
import signal
import threading

import pytest

from dragoman.training.signals import STOPS, Stopped, StopSignal


@pytest.mark.parametrize("number", list(STOPS))
def test_a_signal_is_remembered_and_handlers_are_put_back(number: signal.Signals):
    before = {each: signal.getsignal(each) for each in STOPS}
    with StopSignal() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        assert stop.asked == STOPS[number]
        with pytest.raises(Stopped):
            stop.check()
    assert {each: signal.getsignal(each) for each in STOPS} == before


def test_a_second_interrupt_stops_at_once_but_a_second_sigterm_does_not():
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.asked == "terminated"
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
