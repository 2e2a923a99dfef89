"""What is seen while text is translated."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from dragoman.api.file_translation import Done
from dragoman.cli.progress import ScreenProgress
from dragoman.cli.translation_progress import shown_progress, telling
from tests.unit.cli.clock import Clock


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_speed_and_time_left_are_those_of_this_run(log: Console, clock: Clock):
    with ScreenProgress(log, unit="line", clock=clock) as screen:
        tell = telling(screen, "news.en")
        tell(Done(9000, 900_000, 1_000_000))  # an earlier run did them
        for step in range(1, 3):
            clock.now += 12
            tell(Done(9000 + 120 * step, 900_000 + 12_000 * step, 1_000_000))
    assert written(log).splitlines() == [
        "translating news.en …",
        "  translating news.en: 91 %, 9,120 lines, 10/s, 1 min 28 s left",
        "  translating news.en: 92 %, 9,240 lines, 10/s, 1 min 16 s left",
        "✓ translating news.en  9,240 lines  24 s",
    ]


def test_of_a_pipe_nobody_knows_the_end(log: Console, clock: Clock):
    with ScreenProgress(log, unit="line", clock=clock) as screen:
        tell = telling(screen, "standard input")
        tell(Done(0, 0, None))
        clock.now += 20
        tell(Done(100, 0, None))
    assert written(log).splitlines()[1] == "  translating standard input: 100 lines, 5/s"


@pytest.mark.parametrize("size", [None, 1000])
def test_a_bar_of_eighty_columns_without_colour(clock: Clock, size: int | None):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, no_color=True, _environ={"TERM": "xterm"})
    with ScreenProgress(terminal, unit="line", clock=clock) as screen:
        tell = telling(screen, "a/rather/long/name/of/a/file/that/somebody/wants/to/translate.txt.gz")
        for step in range(5):
            tell(Done(step * 1000, step * 200 if size else 0, size))
            clock.now += 1
    drawn = written(terminal)
    assert "lines" in drawn
    assert "\x1b[3" not in drawn  # a colour


def test_a_person_sees_lines_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with shown_progress("standard input", to_file=False) as tell:
        tell(Done(1, 0, None))
    assert capsys.readouterr().err == ""
    with shown_progress("in", to_file=True) as tell:
        tell(Done(1, 0, None))
    assert "✓ translating in" in capsys.readouterr().err
