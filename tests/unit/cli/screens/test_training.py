"""What a person sees while a model learns."""

from __future__ import annotations

import io
import math
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dragoman.cli.screens.training import TrainingScreen
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainerCallback,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
    ValidationScores,
)
from dragoman.training.callbacks.status import TrainingStatus
from tests.unit.cli.clock import Clock

SAMPLE = ValidationSample(
    "ein Mann schläft",
    "a man sleeps",
    "a man is asleep",
    ("ein", "Mann", "schläft"),
    ("a", "man", "is", "asleep"),
    ((0.9, 0.05, 0.05), (0.1, 0.7, 0.2), (0.3, 0.2, 0.5), (0.0, 0.0, 1.0)),
)


def terminal(width: int = 80, height: int = 40, **options: Any) -> Console:
    environment = {"TERM": "xterm"}
    return Console(
        file=_Utf8(), force_terminal=True, width=width, height=height, _environ=environment, highlight=False, **options
    )


class _Utf8(io.StringIO):
    encoding = "utf-8"


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def begin(update: int = 0, most: int = 8000, **more: Any) -> TrainingStarted:
    return TrainingStarted(Path("run"), 12_345_678, 2, "cpu", update, most, update, update, **more)


def moment(update: int, **changes: Any) -> StepEvent:
    values: dict[str, Any] = {
        "epoch": 3,
        "loss": 2.31,
        "tokens": 560,
        "gradient_norm": 0.8,
        "learning_rate": 0.0003,
        "seconds": 0.1,
        "drawn": update,
    }
    return StepEvent(update=update, **(values | changes))


def validation(update: int, sample: ValidationSample = SAMPLE, *, is_best: bool = True) -> ValidationEvent:
    return ValidationEvent(
        update, 2.1, ValidationScores({"bleu": 21.3, "chrf": 52.1}, {}, (sample,)), is_best, 500, 52.1, "chrf", 3.2
    )


def picture(screen: TrainingScreen) -> list[str]:
    """The bar and the values below the lines, without colours."""
    return screen.draw().plain.splitlines()


def train(observer: TrainerCallback, clock: Clock, numbers: range) -> None:
    for number in numbers:
        clock.now += 0.1
        observer.on_update(moment(number))


def test_without_a_terminal_there_are_few_plain_lines(log: Console, clock: Clock):
    with TrainingScreen(log, clock=clock) as screen:
        observer: TrainerCallback = screen
        observer.on_message("step_40 is damaged; going back to step_20")
        observer.on_start(begin())
        train(observer, clock, range(1, 121))
        observer.on_validation_start(120)
        clock.now += 3.2
        observer.on_validation_end(validation(120))
        observer.on_checkpoint_end(120, Path("checkpoints/step_120"))
        observer.on_update(moment(121, skipped="its loss is not finite", loss=math.nan))
        train(observer, clock, range(122, 222))
        observer.on_end(TrainingEnded("no better", 221, 25.0, 1000, 500, 52.1, "chrf"))
    assert written(log).splitlines() == [
        "! step_40 is damaged; going back to step_20",
        "training run · 12.3 M parameters · 2 processes · cpu",
        "update 101/8,000  epoch 3  mean loss 2.310  5.60 k tokens/s  13 min left",
        "validation @ 120  loss 2.100  BLEU 21.3  chrF++ 52.1  best so far  in 3.2 s",
        "  ein Mann schläft → a man is asleep",
        ("update 171/8,000  epoch 3  mean loss 2.310  5.57 k tokens/s  14 min left  best chrF++ 52.1 @ 500  1 skipped"),
        "✓ stopped early, without improvement: 221 updates, 25 s, best chrF++ 52.1 @ 500",
    ]
    assert "\r" not in written(log)
    assert "\x1b" not in written(log)


def test_a_sample_that_repeats_itself_has_a_short_line(log: Console, clock: Clock):
    with TrainingScreen(log, clock=clock) as screen:
        screen.on_start(begin())
        screen.on_validation_end(validation(120, ValidationSample("a man " * 80, "b", "ste " * 80)))
    assert max(map(len, written(log).splitlines())) <= 210


def test_a_long_run_writes_fewer_lines(log: Console, clock: Clock):
    with TrainingScreen(log, clock=clock) as screen:
        screen.on_start(begin(most=10**6))
        for number in range(1, 40_001):
            clock.now += 1
            screen.on_update(moment(number))
    assert 600 < len(written(log).splitlines()) < 900  # in 11 hours


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_bar_as_wide_as_the_terminal(clock: Clock, width: int):
    screen = TrainingScreen(terminal(width), clock=clock)
    with screen:
        screen.on_start(begin())
        train(screen, clock, range(1, 4001))
        bar, values = picture(screen)
    assert bar == "━" * (min(width, 110) // 2) + "─" * (min(width, 110) // 2)
    assert values.startswith("update 4,000/8,000  epoch 3  mean loss ")
    assert "tokens/s" in values


def test_lines_stay_above_the_bar(clock: Clock):
    console = terminal(color_system=None)
    with TrainingScreen(console, clock=clock) as screen:
        screen.on_start(begin())
        screen.on_message("memory is short, so the batch is split")
        screen.on_validation_end(validation(500))
        screen.on_end(TrainingEnded("terminated", 1000, 100.0, 1000, None, None, "chrf"))
    shown = written(console)
    assert "training run · 12.3 M parameters · 2 processes · cpu\n" in shown
    assert "! memory is short, so the batch is split\n" in shown
    assert "validation @ 500  loss 2.100  BLEU 21.3  chrF++ 52.1  best so far  in 3.2 s\n" in shown
    assert "  ein Mann schläft → a man is asleep\n" in shown
    assert shown.endswith("– stopped by a signal: 1,000 updates, 1 min 40 s\n")


def test_validating_is_why_nothing_moves(clock: Clock):
    screen = TrainingScreen(terminal(120), clock=clock)
    with screen:
        screen.on_start(begin())
        train(screen, clock, range(1, 10))
        screen.on_validation_start(9)
        clock.now += 42
        assert "validating for 42 s" in picture(screen)[1]
        train(screen, clock, range(10, 12))
        assert "validating" not in picture(screen)[1]


def test_before_anything_is_known_nothing_is_shown(log: Console, clock: Clock):
    with TrainingScreen(log, clock=clock) as screen:
        screen.on_update(moment(1))
        screen.on_validation_end(validation(1))
        screen.on_validation_start(1)
        assert picture(screen) == []
        assert not written(log)
        screen.on_start(begin(update=500))
    assert written(log).rstrip().endswith("continues from update 500")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_training_goes_on_when_the_output_is_closed(monkeypatch: pytest.MonkeyPatch, is_terminal: bool):
    class Pipe(_Utf8):
        is_closed = False

        def isatty(self) -> bool:
            return is_terminal

        def write(self, text: str) -> int:
            if self.is_closed:
                raise BrokenPipeError
            return super().write(text)

    monkeypatch.setattr(sys, "stderr", pipe := Pipe())
    before = set(threading.enumerate())
    with TrainingScreen() as screen:
        screen.on_start(begin())
        drawing = set(threading.enumerate()) - before
        assert bool(drawing) == is_terminal
        pipe.is_closed = True
        screen.on_message("a note")
        screen.on_end(TrainingEnded("finished", 8000, 1.0, 1, None, None, "loss"))
    for thread in drawing:
        thread.join(5)
        assert not thread.is_alive(), "it would draw on the next standard error"


def test_a_resumed_run_shows_the_best_of_its_checkpoint(log: Console, clock: Clock):
    best: dict[str, Any] = {"best_update": 400, "best_value": 51.26, "metric": "chrf"}
    with TrainingScreen(log, clock=clock) as screen:
        screen.on_start(begin(600, **best))
        train(screen, clock, range(601, 711))
        assert "best chrF++ 51.3 @ 400" in written(log)
        screen.on_validation_end(validation(710))
        assert "best chrF++ 52.1 @ 500" in picture(screen)[1]


def test_the_cursor_is_back_when_training_fails(clock: Clock):
    console = terminal()

    def failing() -> None:
        with TrainingScreen(console, clock=clock) as screen:
            screen.on_start(begin())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert written(console).rindex("\x1b[?25h") > written(console).rindex("\x1b[?25l")


def test_text_is_shown_not_obeyed(log: Console, clock: Clock):
    hostile = ValidationSample("[red]a[/red]\x1b[2J", "b\r", "c\u202e\n", ("a",), ("c",), None)
    consoles = [log, terminal(color_system=None)]
    for console in consoles:
        with TrainingScreen(console, clock=clock) as screen:
            screen.on_start(begin())
            screen.on_message("note [b]\x1b[2J\r")
            screen.on_validation_end(validation(500, hostile))
        assert "\x1b[2J" not in written(console)
        assert "note [b]\\x1b[2J\\r" in written(console)
        assert "[red]a[/red]\\x1b[2J" in written(console)


def test_a_dumb_terminal_and_one_without_unicode_get_lines(clock: Clock):
    dumb = Console(file=_Utf8(), force_terminal=True, _environ={"TERM": "dumb"})
    old = Console(file=io.TextIOWrapper(io.BytesIO(), "latin-1", "backslashreplace"), force_terminal=True)
    for console in (dumb, old):
        with TrainingScreen(console, clock=clock) as screen:
            screen.on_start(begin())
            screen.on_end(TrainingEnded("finished", 8000, 1.0, 1, None, None, "loss"))
    assert "\x1b" not in written(dumb)


def test_nothing_goes_to_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as build servers do; a log is no terminal for all that
    with TrainingScreen() as screen:
        screen.on_start(begin())
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "training run" in captured.err
    assert "\x1b[2K" not in captured.err


def test_to_tell_it_costs_next_to_nothing():
    with TrainingScreen(terminal()) as screen:
        screen.on_start(begin(most=10**6))
        one = moment(1)
        began = time.process_time()
        for _ in range(20_000):
            screen.on_update(one)
        assert time.process_time() - began < 1.0  # 50 µs each; it takes about 4


def test_speed_is_that_of_the_last_while_and_pauses_count_for_the_time_left():
    status = TrainingStatus(begin(update=1000, most=3000), started=0.0)
    for number in range(1001, 1101):
        status.add(moment(number, seconds=1.0, tokens=100))
    for number in range(1101, 1501):
        status.add(moment(number, seconds=0.1, tokens=100))
    assert status.speed == pytest.approx(1000, rel=0.05)
    assert status.left(now=140.0) == pytest.approx(150, rel=0.05)
    assert status.left(now=640.0) == pytest.approx(150 + 1500, rel=0.05)  # 500 s of pauses in 500 updates
