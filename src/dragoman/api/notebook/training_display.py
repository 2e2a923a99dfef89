"""Training in a notebook: a line per validation and message, and a bar with the current values below them."""

import time
from collections.abc import Callable
from types import SimpleNamespace

from dragoman.api.notebook.stage_display import CellOutput
from dragoman.reporting.html import render
from dragoman.reporting.safe_display_text import visible
from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import StatusDisplay, closing, header, progress_line, scores

_INTERVAL = 1.0  # seconds between updates
_MAX_LINES = 12
_MAX_MESSAGE, _MAX_SAMPLE = 400, 100  # characters


class TrainingDisplay(StatusDisplay):
    """Display of training: a `TrainerCallback`. An update costs almost no time."""

    def __init__(self, output: CellOutput | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._output = output or CellOutput()
        self._lines: list[tuple[str, str]] = []
        self._next = 0.0

    def on_start(self, started: TrainingStarted) -> None:
        super().on_start(started)
        self._say("·", header(started))

    def on_update(self, event: StepEvent) -> None:
        super().on_update(event)
        if self.clock() >= self._next:
            self._show()

    def on_validation_end(self, event: ValidationEvent) -> None:
        super().on_validation_end(event)
        sample = "".join(
            f"; {visible(each.source, _MAX_SAMPLE)} → {visible(each.translation, _MAX_SAMPLE)}"
            for each in event.scored.samples[:1]
        )
        best = ", the best so far" if event.is_best else ""
        self._say("·", f"validation @ {event.update:,}: {scores(event).replace('  ', ', ')}{best}{sample}")

    def on_message(self, text: str) -> None:
        self._say("!", visible(text, _MAX_MESSAGE))

    def on_end(self, ended: TrainingEnded) -> None:
        super().on_end(ended)
        more = "" if ended.is_complete else "; train(…, resume=True) continues"
        self._say("✓" if ended.is_complete else "–", f"{closing(ended)}{more}")

    def _say(self, mark: str, text: str) -> None:
        self._lines = [*self._lines, (mark, text)][-_MAX_LINES:]
        self._show()

    def _show(self) -> None:
        status, now = self.status, self.clock()
        self._next = now + _INTERVAL
        stage, line = None, ""
        if status is not None and status.ended is None:
            stage, line = SimpleNamespace(name="training", share=status.share), progress_line(status, now)
        html = render("notebook_stages.html", finished=self._lines, stage=stage, numbers=line.replace("  ", " · "))
        lines = [f"{mark} {text}" for mark, text in self._lines]
        self._output.show(str(html), "\n".join([*lines, line] if line else lines))
