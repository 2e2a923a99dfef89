"""What a person sees while a model learns."""

from __future__ import annotations

import io
import math
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dragoman.cli.screens.training import TrainingScreen
from dragoman.cli.screens.training_samples import sample_lines, sparkline
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainerCallback,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
    ValidationScores,
)
from dragoman.training.callbacks.run_log import RunLog
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


def picture(screen: TrainingScreen, width: int = 80) -> list[str]:
    """What the terminal shows now, without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(screen._view.draw())  # type: ignore[union-attr]
    return written(console).splitlines()


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


def test_a_terminal_shows_a_picture_that_fits_80_columns(clock: Clock):
    screen = TrainingScreen(terminal(), clock=clock)
    with screen:
        screen.on_start(begin(stops_early=True))
        train(screen, clock, range(1, 501))
        screen.on_validation_end(validation(500))
        shown = picture(screen)
    assert shown[1].rstrip() == "run · 12.3 M parameters · 2 processes · cpu"
    assert re.fullmatch(r"━{3}─+  500 of 8,000  epoch 3", shown[2])
    assert re.fullmatch(r"mean loss    2\.310  ▁{26}    speed     5\.60 k tokens/s", shown[3].rstrip())
    assert re.fullmatch(r"best         chrF\+\+ 52\.1 @ 500 +gradient  0\.8", shown[4].rstrip())
    assert re.fullmatch(r"validation   loss 2\.100  BLEU 21\.3  chrF\+\+ 52\.1 +rate      0\.0003", shown[5].rstrip())
    assert re.fullmatch(r"elapsed      50 s +left      at most 13 min", shown[6].rstrip())
    assert [line.rstrip() for line in shown[8:]] == [
        "source       ein Mann schläft",
        "reference    a man sleeps",
        "translation  a   man  is      asleep",
        "aligned to   ein Mann schläft schläft",
    ]
    assert all(cell_len(line) <= 80 for line in shown)


def test_notes_and_validations_stay_above_the_picture(clock: Clock):
    console = terminal(color_system=None)
    with TrainingScreen(console, clock=clock) as screen:
        screen.on_start(begin())
        screen.on_message("memory is short, so the batch is split")
        screen.on_validation_end(validation(500))
        screen.on_validation_end(validation(1000, is_best=False))
        screen.on_end(TrainingEnded("terminated", 1000, 100.0, 1000, None, None, "chrf"))
    shown = written(console)
    assert "! memory is short, so the batch is split\n" in shown
    assert "★ update 500  loss 2.100  BLEU 21.3  chrF++ 52.1  best so far\n" in shown
    assert "· update 1,000  loss 2.100  BLEU 21.3  chrF++ 52.1\n" in shown
    assert shown.endswith("– stopped by a signal: 1,000 updates, 1 min 40 s\n")


def test_the_cursor_is_back_when_training_fails(clock: Clock):
    console = terminal()

    def failing() -> None:
        with TrainingScreen(console, clock=clock) as screen:
            screen.on_start(begin())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert written(console).rindex("\x1b[?25h") > written(console).rindex("\x1b[?25l")


def test_a_training_that_is_started_again_has_one_picture(clock: Clock):
    console = terminal()
    with TrainingScreen(console, clock=clock) as screen:
        screen.on_start(begin())
        screen.on_start(begin(5))
        screen.on_update(moment(6))
        assert "6 of 8,000" in "\n".join(picture(screen))


def test_validating_is_why_nothing_moves(clock: Clock):
    screen = TrainingScreen(terminal(), clock=clock)
    with screen:
        screen.on_start(begin())
        train(screen, clock, range(1, 10))
        screen.on_validation_start(9)
        clock.now += 42
        assert any("validation   at work for 42 s" in line for line in picture(screen))
        train(screen, clock, range(10, 12))
        assert not any("at work" in line for line in picture(screen))


@pytest.mark.parametrize("height", [4, 10, 12, 24])
def test_samples_are_left_out_where_they_do_not_fit(clock: Clock, height: int):
    screen = TrainingScreen(terminal(height=height), clock=clock)
    with screen:
        screen.on_start(begin())
        screen.on_validation_end(validation(500))
        shown = picture(screen)
    assert any("schläft" in line for line in shown) == (height == 24)


def test_words_that_changed_stand_out():
    before = ValidationSample(
        SAMPLE.source, SAMPLE.reference, "a man sleeps", SAMPLE.source_words, ("a", "man", "sleeps")
    )
    for attention in (True, False):
        lines = sample_lines(SAMPLE, before, 80, attention=attention, colour=False)
        found = {
            line.plain[span.start : span.end] for line in lines for span in line.spans if "bold" in str(span.style)
        }
        assert found == {"is", "asleep"}
        first = sample_lines(SAMPLE, None, 80, attention=attention, colour=False)
        assert not any("bold" in str(span.style) for line in first for span in line.spans)


def test_characters_that_changed_stand_out_in_scripts_without_spaces():
    before, now = (ValidationSample("x", "y", text) for text in ("老人在公园里", "老人在花园里"))
    line = sample_lines(now, before, 80, attention=True, colour=True)[-1]
    assert [line.plain[span.start : span.end] for span in line.spans if "bold" in str(span.style)] == ["花"]


def test_what_a_word_looks_at_is_told_by_colour_or_by_a_bar():
    coloured = sample_lines(SAMPLE, None, 80, attention=True, colour=True)[-1]
    assert coloured.plain.split() == ["aligned", "to", "ein", "Mann", "schläft", "schläft"]
    assert len({str(span.style) for span in coloured.spans if " on " in str(span.style)}) == 3
    plain = sample_lines(SAMPLE, None, 80, attention=True, colour=False)[-1]
    assert plain.plain.split() == ["aligned", "to", "█ein", "▆Mann", "▅schläft", "█schläft"]


def test_wide_characters_stand_above_what_they_look_at():
    sample = ValidationSample("a b", "r", "老人 睡", ("aaaaa", "b"), ("老人", "睡"), ((1.0, 0.0), (0.0, 1.0)))
    above, below = sample_lines(sample, None, 80, attention=True, colour=True)[-2:]
    assert cell_len(above.plain[: above.plain.index("睡")]) == cell_len(below.plain[: below.plain.index("b")])


@given(
    words=st.lists(st.text(max_size=30), max_size=30),
    width=st.integers(min_value=21, max_value=120),
    weight=st.floats(),
    colour=st.booleans(),
)
def test_any_sample_fits_and_is_shown_not_obeyed(words: list[str], width: int, weight: float, colour: bool):
    text = " ".join(words)
    weights = tuple(tuple(weight for _ in words) for _ in words)
    sample = ValidationSample(text, text, text, tuple(words), tuple(words), weights)
    for attention in (True, False):
        lines = sample_lines(sample, SAMPLE, width, attention=attention, colour=colour)
        assert len(lines) <= 10
        for line in lines:
            assert line.plain.isprintable() or set(line.plain) & set("\u3000\u200c\u200d")
            assert cell_len(line.plain.rstrip()) <= width


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


def test_the_mean_loss_of_a_resumed_run_continues(tmp_path: Path):
    losses = [6.0 - number / 100 for number in range(200)]
    whole = TrainingStatus(replace(begin(), folder=tmp_path), started=0.0)
    log = RunLog(tmp_path / "log.jsonl")
    for number, loss in enumerate(losses, 1):
        whole.add(replace(moment(number), loss=loss))
        log.append("update", {"update": number, "updates": 1, "loss": loss})
    log.append("note", {"update": 200, "text": "a note"})
    resumed = TrainingStatus(replace(begin(update=150), folder=tmp_path), started=0.0)
    assert resumed.has_begun
    for number, loss in enumerate(losses[150:], 151):
        resumed.add(replace(moment(number), loss=loss))
    assert resumed.loss == pytest.approx(whole.loss)
    assert not TrainingStatus(replace(begin(), folder=tmp_path), started=0.0).has_begun


def test_before_anything_is_known_nothing_is_said(clock: Clock):
    screen = TrainingScreen(terminal(), clock=clock)
    assert picture(screen) == []
    with screen:
        screen.on_update(moment(1))
        screen.on_validation_end(validation(1))
        screen.on_validation_start(1)
        assert picture(screen) == []
        screen.on_start(begin(update=500))
        shown = picture(screen)
    assert shown[1].rstrip().endswith("continues from update 500")
    assert "left      –" in shown[6]


def test_a_narrow_terminal_has_everything_in_lines_of_their_own(clock: Clock):
    screen = TrainingScreen(terminal(width=40), clock=clock)
    with screen:
        screen.on_start(begin())
        train(screen, clock, range(1, 501))
        shown = picture(screen, 40)
    assert [re.split("  +", line)[0] for line in shown[3:]] == [
        *("mean loss", "best", "validation", "elapsed", "speed", "gradient", "rate", "left")
    ]
    assert all(cell_len(line) <= 40 for line in shown)


@given(st.lists(st.floats(-1e6, 1e6), max_size=200), st.integers(-3, 60))
def test_a_sparkline_fits(values: list[float], width: int):
    drawn = sparkline(values, width)
    assert len(drawn) == max(0, min(len(values), width))


def test_a_sparkline_goes_from_the_highest_to_the_lowest():
    assert sparkline([8, 7, 6, 5, 4, 3, 2, 1], 8) == "█▇▆▅▄▃▂▁"
    assert sparkline([8, 8, 1, 1], 2) == "█▁"


def test_a_long_course_keeps_few_values():
    status = TrainingStatus(begin(most=10**6), started=0.0)
    for number in range(1, 10_000):
        status.add(moment(number, loss=10_000 / number))
    losses = [loss for _, loss in status.curve.points]
    assert 100 <= len(losses) <= 200
    assert losses == sorted(losses, reverse=True)


def test_a_resumed_run_shows_the_best_of_its_checkpoint(log: Console, clock: Clock):
    best: dict[str, Any] = {"best_update": 400, "best_value": 51.26, "metric": "chrf"}
    with TrainingScreen(log, clock=clock) as screen:
        screen.on_start(begin(600, **best))
        train(screen, clock, range(601, 711))
    assert "best chrF++ 51.3 @ 400" in written(log)
    screen = TrainingScreen(terminal(), clock=clock)
    with screen:
        screen.on_start(begin(600, **best))
        resumed = picture(screen)
        screen.on_validation_end(validation(700))
        validated = picture(screen)
    assert resumed[4].startswith("best         chrF++ 51.3 @ 400")
    assert validated[4].startswith("best         chrF++ 52.1 @ 500")
