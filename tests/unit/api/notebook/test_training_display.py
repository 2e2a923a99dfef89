"""Training in a notebook: bar, time left, validations."""

from pathlib import Path

import lxml.html

from dragoman.api.notebook.training_display import TrainingDisplay
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
    ValidationScores,
)
from tests.unit.api.notebook.test_stage_display import Clock, Recorded

STARTED = TrainingStarted(
    folder=Path("run"),
    parameters=82_700,
    processes=1,
    device="cpu",
    update=0,
    max_updates=1000,
    last_validated=0,
    drawn=0,
)


def step(update: int, loss: float) -> StepEvent:
    return StepEvent(update, 1, loss, tokens=512, gradient_norm=1.0, learning_rate=1e-3, seconds=0.1, drawn=update)


def validation(update: int, loss: float, *, text: str = "le chat", best: bool = True) -> ValidationEvent:
    sample = ValidationSample("the <cat>", "le <chat>", text)
    return ValidationEvent(update, loss, ValidationScores({"bleu": 12.5}, {}, (sample,)), best, 50, 1.5, "loss", 0.2)


def trained(updates: int) -> tuple[TrainingDisplay, Recorded, Clock]:
    output, clock = Recorded(), Clock()
    display = TrainingDisplay(output, clock=clock)
    display.on_start(STARTED)
    for update in range(1, updates + 1):
        clock.now += 0.1
        display.on_update(step(update, 5.0 / update))
    return display, output, clock


def test_a_running_training_shows_a_bar_and_the_time_left():
    _, output, _ = trained(100)

    page = lxml.html.fromstring(output.pages[-1])
    (bar,) = page.iter("progress")
    assert 0.09 <= float(bar.get("value")) <= 0.1
    assert "update " in page.text_content()
    assert "1 min 3" in output.texts[-1]
    assert output.texts[-1].endswith(" s left")
    assert not list(page.iter("script"))


def test_it_is_drawn_about_once_per_second():
    _, output, _ = trained(300)

    assert 20 <= len(output.pages) <= 35
    assert max(map(len, output.pages)) < 5_000


def test_a_validation_shows_scores_and_a_sample_as_text():
    display, output, clock = trained(50)
    clock.now += 2
    display.on_validation_start(50)
    display.on_validation_end(validation(50, 1.5))

    text = lxml.html.fromstring(output.pages[-1]).text_content()
    assert "validation @ 50: loss 1.500, BLEU 12.5, the best so far; the <cat> → le chat" in text


def test_a_long_training_shows_the_last_validations():
    display, output, _ = trained(1)
    for number in range(1, 51):
        display.on_validation_end(validation(number, 1.5))
    assert "validation @ 50:" in output.pages[-1]
    assert "validation @ 20:" not in output.pages[-1]


def test_the_end_replaces_the_bar():
    display, output, _ = trained(20)
    display.on_end(TrainingEnded("finished", 1000, 62.0, 51_200, 1000, 0.5, "loss"))

    assert output.texts[-1].endswith("\n✓ finished: 1,000 updates, 1 min 02 s, best loss 0.500 @ 1,000")
    assert "<progress" not in output.pages[-1]


def test_an_interrupted_training_names_the_call_that_continues_it():
    display, output, _ = trained(20)
    display.on_end(TrainingEnded("interrupted", 20, 2.0, 10_240, None, None, "loss"))

    assert output.texts[-1].endswith("\n– interrupted: 20 updates, 2.0 s; train(…, resume=True) continues")


def test_messages_are_shown_before_and_during_training():
    output = Recorded()
    display = TrainingDisplay(output, clock=Clock())
    display.on_message("a <b>")
    assert "a &lt;b&gt;" in output.pages[-1]
    display.on_start(STARTED)
    assert "a &lt;b&gt;" in output.pages[-1]
