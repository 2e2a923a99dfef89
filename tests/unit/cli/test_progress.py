from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from dragoman.cli.progress import ScreenProgress
from dragoman.data.progress import Progress
from tests.unit.cli.clock import Clock


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None, _environ={"TERM": "xterm"})


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_without_a_terminal_there_are_few_plain_lines(log: Console, clock: Clock):
    with ScreenProgress(log, clock=clock) as progress:
        watcher: Progress = progress
        watcher.skip("cleaning news")
        watcher.begin("cleaning europarl")
        for second in range(1, 26):
            clock.now += 1
            watcher.advance(second / 50, second * 4000)
        watcher.begin("learning the tokenizer")
        clock.now += 100
    assert written(log).splitlines() == [
        "– cleaning news: done before",
        "cleaning europarl …",
        "  cleaning europarl: 20 %, 40,000 pairs, 4.00 k/s, 40 s left",
        "  cleaning europarl: 40 %, 80,000 pairs, 4.00 k/s, 30 s left",
        "✓ cleaning europarl  100,000 pairs  25 s",
        "learning the tokenizer …",
        "✓ learning the tokenizer  1 min 40 s",
    ]
    assert "\r" not in written(log)
    assert "\x1b" not in written(log)


def test_speed_is_that_of_the_last_while(log: Console, clock: Clock):
    with ScreenProgress(log, clock=clock) as progress:
        progress.begin("cleaning")
        clock.now += 10
        progress.advance(0.5, 500_000)  # from before an interruption
        for step in range(1, 11):
            clock.now += 10
            progress.advance(0.5 + step / 100, 500_000 + 1000 * step)
    assert written(log).splitlines()[-2] == "  cleaning: 60 %, 510,000 pairs, 100/s, 6 min 40 s left"


def test_a_stage_that_is_stopped_says_so(log: Console, clock: Clock):
    def interrupted() -> None:
        with ScreenProgress(log, clock=clock) as progress:
            progress.begin("cleaning")
            clock.now += 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert written(log).splitlines()[-1] == "✗ cleaning: stopped after 3.0 s"


def test_names_are_shown_not_obeyed(log: Console, clock: Clock):
    with ScreenProgress(log, clock=clock) as progress:
        progress.begin("cleaning [red]a[/red]\x1b[2J\r" + "x" * 1000)
    shown = written(log)
    assert "cleaning [red]a[/red]\\x1b[2J\\r" in shown
    assert "\x1b" not in shown
    assert len(shown) < 300


def test_a_terminal_shows_a_bar_and_keeps_a_line_of_each_stage(terminal: Console, clock: Clock):
    with ScreenProgress(terminal, clock=clock) as progress:
        progress.skip("cleaning news")
        progress.begin("cleaning [b]europarl")
        clock.now += 5
        progress.advance(0.5, 80_000)
        progress._view._live.refresh()  # type: ignore[attr-defined]
        clock.now += 5
        progress.advance(1.0, 160_000)
        progress.begin("learning the tokenizer")
    shown = written(terminal)
    assert "– cleaning news: done before\n" in shown
    assert "80,000 pairs  16.0 k/s" in shown
    assert "5.0 s left" in shown
    assert "✓ cleaning [b]europarl  160,000 pairs  10 s\n" in shown
    assert "✓ learning the tokenizer  0.0 s\n" in shown


def test_a_dumb_terminal_gets_lines(clock: Clock):
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    with ScreenProgress(console, clock=clock) as progress:
        progress.begin("cleaning")
    assert "\r" not in written(console)


def test_nothing_goes_to_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as build servers do; a log is no terminal for all that
    with ScreenProgress() as progress:
        progress.begin("cleaning")
        progress.advance(1.0, 5)
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "✓ cleaning" in captured.err
    assert "\x1b[2K" not in captured.err


def test_to_tell_it_costs_next_to_nothing(terminal: Console):
    with ScreenProgress(terminal) as progress:
        progress.begin("cleaning")
        began = time.perf_counter()
        for number in range(100_000):
            progress.advance(number / 100_000, number)
        assert time.perf_counter() - began < 2.0  # 20 µs each, on a machine that is busy; it takes about 0.5


def test_without_a_stage_there_is_nothing_to_say(log: Console):
    with ScreenProgress(log) as progress:
        progress.advance(0.5, 10)
    assert written(log) == ""
