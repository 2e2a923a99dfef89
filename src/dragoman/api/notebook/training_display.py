"""Training in a notebook: a progress bar with the remaining time, the loss curve, and a sample translation."""

import secrets
import time
from collections.abc import Callable

from dragoman.api.notebook.stage_display import CellOutput
from dragoman.reporting.html import render
from dragoman.reporting.line_chart import Scale, Series, line_chart_svg
from dragoman.reporting.number_format import format_compact, format_count
from dragoman.reporting.safe_display_text import visible
from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import (
    StatusDisplay,
    TrainingStatus,
    closing,
    measure,
    parameter_count,
    progress_line,
    scores,
)

_INTERVAL = 1.0  # seconds between updates
_MAX_MESSAGES = 8
_MAX_MESSAGE = 400


class TrainingDisplay(StatusDisplay):
    """Display of training: a `TrainerCallback`. An update costs almost no time."""

    def __init__(self, output: CellOutput | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._output = output or CellOutput()
        self._name = f"dragoman-{secrets.token_hex(4)}"  # of the chart; unique in the notebook
        self._validations: list[tuple[float, float]] = []
        self._messages: list[str] = []
        self._next = 0.0

    def on_start(self, started: TrainingStarted) -> None:
        super().on_start(started)
        self._validations = []
        self._show()

    def on_update(self, event: StepEvent) -> None:
        super().on_update(event)
        if self.clock() >= self._next:
            self._show()

    def on_validation_start(self, update: int) -> None:
        super().on_validation_start(update)
        if self.clock() >= self._next:
            self._show()

    def on_validation_end(self, event: ValidationEvent) -> None:
        super().on_validation_end(event)
        self._validations = [each for each in self._validations if each[0] < event.update]
        self._validations.append((event.update, event.loss))
        self._show()

    def on_message(self, text: str) -> None:
        self._messages = [*self._messages, visible(text, _MAX_MESSAGE)][-_MAX_MESSAGES:]
        self._show()

    def on_end(self, ended: TrainingEnded) -> None:
        super().on_end(ended)
        self._show()

    def _show(self) -> None:
        status = self.status
        if status is None:
            self._output.show(
                str(render("notebook_stages.html", finished=[("!", text) for text in self._messages], stage=None)),
                "\n".join(self._messages),
            )
            return
        now = self.clock()
        self._next = now + _INTERVAL
        line, ended = progress_line(status, now), "" if status.ended is None else _ended(status.ended)
        html = render(
            "notebook_training.html",
            model=_model(status.began),
            share=status.share,
            progress=line.replace("  ", " · "),
            ended=ended,
            is_validating=status.validating_since is not None,
            chart=self._chart(status),
            validated=None if status.validated is None else _validated(status.validated),
            sample=next(iter(status.validated.scored.samples), None) if status.validated else None,
            messages=self._messages,
        )
        self._output.show(str(html), "\n".join([*self._messages, ended or line]))

    def _chart(self, status: TrainingStatus) -> str:
        lines = [Series("training", 0, status.curve.points), Series("validation", 1, self._validations)]
        across = Scale("updates", format_compact, is_whole=True)
        return line_chart_svg("Loss", lines, across=across, up=Scale("loss", "{:.3g}".format), name=self._name)


def _ended(ended: TrainingEnded) -> str:
    text = f"{'✓' if ended.is_complete else '–'} {closing(ended)}"
    return text if ended.is_complete else f"{text}; train(…, resume=True) continues"


def _model(began: TrainingStarted) -> str:
    parts = [parameter_count(began), visible(began.device, 40)]
    if began.processes > 1:
        parts.append(format_count(began.processes, "process", "processes"))
    if began.update:
        parts.append(f"continues from update {began.update:,}")
    return " · ".join(parts)


def _validated(event: ValidationEvent) -> str:
    best = "the best so far" if event.is_best else f"best {measure(event.metric, event.best_value)}"
    where = "" if event.is_best else f" @ {event.best_update:,}"
    return f"validation @ {event.update:,}: {scores(event).replace('  ', ', ')}; {best}{where}"
