"""Training in a notebook: a progress bar with the remaining time, the loss curve, and a sample translation."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path

from dragoman.api.notebook.cell_output import CellOutput
from dragoman.reporting.html import render
from dragoman.reporting.line_chart import Scale, Series, line_chart_svg
from dragoman.reporting.number_format import format_compact, format_count
from dragoman.reporting.safe_display_text import visible
from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import TrainingStatus, closing, measure, parameter_count, progress_line, scores

__all__ = ["TrainingDisplay"]

_INTERVAL = 1.0  # seconds between updates
_MAX_POINTS = 200  # of a curve; then every second one is dropped
_MAX_MESSAGES = 8
_MAX_MESSAGE = 400

_Points = list[tuple[float, float]]


class TrainingDisplay:
    """Display of training: a `TrainerCallback`. An update costs almost no time."""

    def __init__(
        self,
        output: CellOutput | None = None,
        *,
        stops_early: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a display; with `stops_early` the remaining time is an upper limit."""
        self._output, self._stops_early, self._clock = output or CellOutput(), stops_early, clock
        self._name = f"dragoman-{secrets.token_hex(4)}"  # of the chart; unique in the notebook
        self._status: TrainingStatus | None = None
        self._losses: _Points = []
        self._validations: _Points = []
        self._stride = 1
        self._messages: list[str] = []
        self._ended = ""
        self._next = 0.0

    def on_start(self, started: TrainingStarted) -> None:
        """Show the model."""
        self._status = TrainingStatus(started, self._clock(), self._stops_early)
        self._losses, self._validations, self._ended = [], [], ""
        self._show()

    def on_update(self, event: StepEvent) -> None:
        """Record an update."""
        if (status := self._status) is None:
            return
        status.add(event)
        if status.has_begun:
            self._add_loss(event.update, status.loss)
        if self._clock() >= self._next:
            self._show()

    def on_validation_start(self, update: int) -> None:
        """Show that validation pauses the updates."""
        if self._status is not None:
            self._status.validating_since = self._clock()
            if self._clock() >= self._next:
                self._show()

    def on_validation_end(self, event: ValidationEvent) -> None:
        """Show the scores of a validation and a sample."""
        if self._status is not None:
            self._status.validate(event)
            self._validations = [each for each in self._validations if each[0] < event.update]
            self._validations.append((event.update, event.loss))
            self._show()

    def on_checkpoint_start(self, update: int) -> None:
        """Ignore: it is frequent."""

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        """Ignore."""

    def on_message(self, text: str) -> None:
        """Show a message."""
        self._messages = [*self._messages, visible(text, _MAX_MESSAGE)][-_MAX_MESSAGES:]
        self._show()

    def on_end(self, ended: TrainingEnded) -> None:
        """Show how training ended."""
        self._ended = f"{'✓' if ended.is_complete else '–'} {closing(ended)}"
        if not ended.is_complete:
            self._ended += "; train(…, resume=True) continues"
        self._show()

    def _add_loss(self, update: int, loss: float) -> None:
        while self._losses and self._losses[-1][0] >= update:  # after a rollback
            self._losses.pop()
        if update % self._stride == 0 or not self._losses:
            self._losses.append((update, loss))
        if len(self._losses) > _MAX_POINTS:
            self._stride *= 2
            self._losses = self._losses[::2]

    def _show(self) -> None:
        status = self._status
        if status is None:
            self._output.show(
                str(render("notebook_stages.html", finished=[("!", text) for text in self._messages], stage=None)),
                "\n".join(self._messages),
            )
            return
        now = self._clock()
        self._next = now + _INTERVAL
        line = progress_line(status, now)
        html = render(
            "notebook_training.html",
            model=_model(status.began),
            share=min(1.0, status.update / max(1, status.began.max_updates)),
            progress=line.replace("  ", " · "),
            ended=self._ended,
            is_validating=status.validating_since is not None,
            chart=self._chart(),
            validated=None if status.validated is None else _validated(status.validated),
            sample=next(iter(status.validated.scored.samples), None) if status.validated else None,
            messages=self._messages,
        )
        self._output.show(str(html), "\n".join([*self._messages, self._ended or line]))

    def _chart(self) -> str:
        lines = [Series("training", 0, self._losses), Series("validation", 1, self._validations)]
        across = Scale("updates", format_compact, is_whole=True)
        return line_chart_svg("Loss", lines, across=across, up=Scale("loss", "{:.3g}".format), name=self._name)


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
