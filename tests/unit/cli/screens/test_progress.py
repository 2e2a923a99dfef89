from __future__ import annotations

import io
import time
from itertools import pairwise

import pytest
from rich.console import Console

from dragoman.api.files.file_translation import FileProgress
from dragoman.cli.screens.progress import ProgressDisplay, file_progress
from dragoman.progress import Progress
from tests.unit.cli.clock import Clock


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None, _environ={"TERM": "xterm"})


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_without_a_terminal_there_are_few_plain_lines(log: Console, clock: Clock):
    with ProgressDisplay(log, clock=clock) as progress:
        watcher: Progress = progress
        watcher.skip("cleaning news")
        watcher.begin("cleaning europarl")
        for second in range(1, 26):
            clock.now += 1
            watcher.advance(second / 50, second * 4000)
        watcher.begin("training the tokenizer")
        clock.now += 100
    assert written(log).splitlines() == [
        "– cleaning news: done before",
        "cleaning europarl …",
        "  cleaning europarl: 20 %, 40,000 pairs, 4.00 k/s, 40 s left",
        "  cleaning europarl: 40 %, 80,000 pairs, 4.00 k/s, 30 s left",
        "✓ cleaning europarl  100,000 pairs  25 s",
        "training the tokenizer …",
        "✓ training the tokenizer  1 min 40 s",
    ]
    assert "\r" not in written(log)
    assert "\x1b" not in written(log)


def test_speed_is_that_of_the_last_while(log: Console, clock: Clock):
    with ProgressDisplay(log, clock=clock) as progress:
        progress.begin("cleaning")
        clock.now += 10
        progress.advance(0.5, 500_000)  # from before an interruption
        for step in range(1, 11):
            clock.now += 10
            progress.advance(0.5 + step / 100, 500_000 + 1000 * step)
    assert written(log).splitlines()[-2] == "  cleaning: 60 %, 510,000 pairs, 100/s, 6 min 40 s left"


def test_a_stage_that_is_stopped_says_so(log: Console, clock: Clock):
    def interrupted() -> None:
        with ProgressDisplay(log, clock=clock) as progress:
            progress.begin("cleaning")
            clock.now += 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert written(log).splitlines()[-1] == "✗ cleaning: stopped after 3.0 s"


def test_names_are_shown_not_obeyed(log: Console, clock: Clock):
    with ProgressDisplay(log, clock=clock) as progress:
        progress.begin("cleaning [red]a[/red]\x1b[2J\r" + "x" * 1000)
    shown = written(log)
    assert "cleaning [red]a[/red]\\x1b[2J\\r" in shown
    assert "\x1b" not in shown
    assert len(shown) < 300


def test_a_terminal_shows_a_bar_and_keeps_a_line_of_each_stage(terminal: Console, clock: Clock):
    with ProgressDisplay(terminal, clock=clock) as progress:
        progress.skip("cleaning news")
        progress.begin("cleaning [b]europarl")
        clock.now += 5
        progress.advance(0.5, 80_000)
        progress._view._live.refresh()  # type: ignore[attr-defined]
        clock.now += 5
        progress.advance(1.0, 160_000)
        progress.begin("training the tokenizer")
    shown = written(terminal)
    assert "– cleaning news: done before\n" in shown
    assert "80,000 pairs  16.0 k/s" in shown
    assert "5 s left" in shown
    assert "✓ cleaning [b]europarl  160,000 pairs  10 s\n" in shown
    assert "✓ training the tokenizer  0.0 s\n" in shown


def test_a_dumb_terminal_gets_lines(clock: Clock):
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    with ProgressDisplay(console, clock=clock) as progress:
        progress.begin("cleaning")
    assert "\r" not in written(console)


def test_nothing_goes_to_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as build servers do; a log is no terminal for all that
    with ProgressDisplay() as progress:
        progress.begin("cleaning")
        progress.advance(1.0, 5)
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "✓ cleaning" in captured.err
    assert "\x1b[2K" not in captured.err


def test_to_tell_it_costs_next_to_nothing(terminal: Console):
    with ProgressDisplay(terminal) as progress:
        progress.begin("cleaning")
        began = time.process_time()
        for number in range(100_000):
            progress.advance(number / 100_000, number)
        assert time.process_time() - began < 2.0  # 20 µs each; it takes about 0.5


def test_without_a_stage_there_is_nothing_to_say(log: Console):
    with ProgressDisplay(log) as progress:
        progress.advance(0.5, 10)
    assert written(log) == ""


def test_speed_and_time_left_are_those_of_this_run(log: Console, clock: Clock):
    with ProgressDisplay(log, unit="line", clock=clock) as screen:
        tell = file_progress(screen, "news.en")
        tell(FileProgress(9000, 900_000, 1_000_000))  # an earlier run did them
        for step in range(1, 3):
            clock.now += 12
            tell(FileProgress(9000 + 120 * step, 900_000 + 12_000 * step, 1_000_000))
    assert written(log).splitlines() == [
        "translating news.en …",
        "  translating news.en: 91 %, 9,120 lines, 10/s, 1 min 30 s left",
        "  translating news.en: 92 %, 9,240 lines, 10/s, 1 min 20 s left",
        "✓ translating news.en  9,240 lines, 9,000 of them in earlier runs  24 s",
    ]


def test_files_that_an_earlier_run_finished_do_not_count_for_the_speed(log: Console, clock: Clock):
    with ProgressDisplay(log, unit="line", clock=clock) as screen:
        tell = file_progress(screen, "3 files of news")
        tell(FileProgress(0, 0, 1_000_000))
        for step in range(1, 3):  # the files of the earlier run are found while the first lines are translated
            clock.now += 12
            tell(FileProgress(9000 + 120 * step, 900_000 + 12_000 * step, 1_000_000, 9000, 900_000))
    assert written(log).splitlines()[1:] == [
        "  translating 3 files of news: 91 %, 9,120 lines, 10/s, 1 min 30 s left",
        "  translating 3 files of news: 92 %, 9,240 lines, 10/s, 1 min 20 s left",
        "✓ translating 3 files of news  9,240 lines, 9,000 of them in earlier runs  24 s",
    ]


@pytest.mark.parametrize("period", [10, 20, 30, 40])
def test_the_time_left_does_not_jump_with_the_speed(log: Console, clock: Clock, period: int):
    """The speed changes by a factor of 4 every `period` seconds."""
    pairs, total, left = 0, 2_000_000, []
    with ProgressDisplay(log, clock=clock) as progress:
        progress.begin("cleaning")
        assert progress._stage is not None
        for second in range(1, 600):
            clock.now += 1
            pairs += 4000 if second // period % 2 else 1000
            progress.advance(pairs / total, pairs)
            if second % 10 == 0 and second >= 60:
                assert progress._stage.seconds_left is not None
                left.append(progress._stage.seconds_left)
    jumps = [abs(after - before + 10) / before for before, after in pairwise(left)]
    assert max(jumps) < 0.2


def test_a_lasting_change_of_speed_is_followed(log: Console, clock: Clock):
    with ProgressDisplay(log, clock=clock) as progress:
        progress.begin("cleaning")
        assert progress._stage is not None
        for second in range(1, 401):
            clock.now += 1
            progress.advance(min(second, 200) / 1000 + max(0, second - 200) / 4000)
        assert progress._stage.seconds_left == pytest.approx(0.75 * 4000, rel=0.05)


def test_the_end_of_a_pipe_is_unknown(log: Console, clock: Clock):
    with ProgressDisplay(log, unit="line", clock=clock) as screen:
        tell = file_progress(screen, "standard input")
        tell(FileProgress(0, 0, None))
        clock.now += 20
        tell(FileProgress(100, 0, None))
    assert written(log).splitlines()[1] == "  translating standard input: 100 lines, 5/s"


@pytest.mark.parametrize("size", [None, 1000])
def test_a_bar_of_eighty_columns_without_colour(clock: Clock, size: int | None):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, no_color=True, _environ={"TERM": "xterm"})
    with ProgressDisplay(terminal, unit="line", clock=clock) as screen:
        tell = file_progress(screen, "a/rather/long/name/of/a/file/that/somebody/wants/to/translate.txt.gz")
        for step in range(5):
            tell(FileProgress(step * 1000, step * 200 if size else 0, size))
            clock.now += 1
    drawn = written(terminal)
    assert "lines" in drawn
    assert "\x1b[3" not in drawn  # a colour
