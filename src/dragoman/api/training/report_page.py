"""Write the page of a running training as the report of its run: after each validation, and every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dragoman.evaluation.results import SetScore
from dragoman.files import atomic_write
from dragoman.inspection.pages.training_report import render_training_report
from dragoman.run_files import REPORT
from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import StatusDisplay

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult

_INTERVAL = 5.0  # seconds between two pages
_SHARE = 0.01  # most of the time that pages between validations may take


class ReportPage(StatusDisplay):
    """A callback that writes the page, and a context manager: the page of a failed training does not renew itself."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._folder = folder
        self._results: Sequence[SetScore] = ()
        self._is_running, self._next = True, 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_running:
            self._is_running = False
            self._write()

    def on_start(self, started: TrainingStarted) -> None:
        super().on_start(started)
        self._write()

    def on_update(self, event: StepEvent) -> None:
        super().on_update(event)
        if self.clock() >= self._next:
            self._write()

    def on_validation_end(self, event: ValidationEvent) -> None:
        super().on_validation_end(event)
        self._write()

    def on_end(self, ended: TrainingEnded) -> None:
        """Write the page of the ended training; a complete one is scored before it is finished."""
        super().on_end(ended)
        self._is_running = ended.is_complete
        self._write()

    def finish(self, trained: TrainResult) -> None:
        """Write the report with the scores of held-out sets."""
        self._is_running, self._results = False, trained.scores
        self._write()

    def _write(self) -> None:
        if not self._folder.is_dir():
            return
        began = self.clock()
        page = render_training_report(
            self._folder, self.status, is_running=self._is_running, now=began, results=self._results
        )
        with atomic_write(self._folder / REPORT) as draft:
            draft.write_text(page, encoding="utf-8")
        now = self.clock()
        self._next = now + max(_INTERVAL, (now - began) / _SHARE)
