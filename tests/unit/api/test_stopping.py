"""Being asked to stop: work that may be left is left, and nothing else."""

from __future__ import annotations

import signal
import threading

import pytest

from dragoman.api.stopping import Stopped, StopSignal


@pytest.mark.parametrize(("number", "why"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")])
def test_work_is_left_only_where_it_may_be(number: signal.Signals, why: str):
    before = signal.getsignal(number)
    with StopSignal() as stop:
        signal.raise_signal(number)
        assert stop.asked == why
        with pytest.raises(Stopped), stop.leaving():
            raise AssertionError("it must not begin")
    assert signal.getsignal(number) is before
    with StopSignal() as stop:
        with pytest.raises(Stopped), stop.leaving():
            signal.raise_signal(number)
        if number == signal.SIGTERM:
            signal.raise_signal(number)  # outside it is only remembered


def test_a_second_control_c_stops_at_once():
    with StopSignal():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_other_threads_have_no_signals():
    asked = []

    def work() -> None:
        with StopSignal() as stop, stop.leaving():
            asked.append(stop.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [""]
