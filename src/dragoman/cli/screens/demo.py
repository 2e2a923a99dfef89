"""Show demo progress on stderr: a date whose translation improves during training."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from dragoman.reporting.number_format import format_count
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
)

__all__ = ["DemoScreen"]

_BAR = 24  # cells of the first loss
_REDRAWN = 0.1  # seconds between updates of the bar
_NAME = 34
_ALWAYS = 100  # updates between lines while the translation does not change


class DemoScreen:
    """Display of preparation (a `Progress`) and training (a `TrainerCallback`); a context manager.

    It prints a line per validation with a new translation, and a bar below them on a terminal.
    """

    def __init__(self, console: Console | None = None) -> None:
        # Without `force_terminal` rich takes a log for a terminal if an environment variable is set.
        self._console = console or Console(stderr=True, force_terminal=sys.stderr.isatty(), highlight=False)
        self._can_draw = self._console.encoding.startswith("utf")
        self._bar = Progress(
            TextColumn("  {task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[loss]}", markup=False),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            disable=not self._console.is_terminal or not self._can_draw,
        )
        self._task: TaskID | None = None
        self._first_loss = 0.0
        self._next = 0.0
        self._last: str | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, line: str | Text = "") -> None:
        """Print a line."""
        self._console.print(line, markup=False, soft_wrap=True)

    # ------------------------------------------------------------------------------------------------- preparation

    def begin(self, stage: str) -> None:
        """Begin a stage with a new bar."""
        self._new_bar(stage, None)

    def advance(self, share: float, pairs: int = 0) -> None:
        """Set the progress of the stage."""
        if self._task is not None:
            self._bar.update(self._task, completed=share, total=1.0)

    def skip(self, stage: str) -> None:
        """Ignore a stage without work."""

    # ---------------------------------------------------------------------------------------------------- training

    def on_start(self, began: TrainingStarted) -> None:
        """Print the model."""
        goes_on = f", continued from update {began.update:,}" if began.update else ""
        self.say(f"A network of {began.parameters:,} weights learns from them{goes_on}.")
        self.say("One unseen date after each validation:\n")
        self._new_bar("learning", began.max_updates)
        if self._task is not None:
            self._bar.update(self._task, completed=began.update)

    def on_update(self, moment: StepEvent) -> None:
        """Update the bar."""
        now = time.monotonic()
        if self._task is not None and now >= self._next:
            self._next = now + _REDRAWN
            self._bar.update(self._task, completed=moment.update, loss=f"loss {moment.loss:.3f}")

    def on_validation_start(self, update: int) -> None:
        """Ignore: it takes a moment."""

    def on_validation_end(self, validated: ValidationEvent) -> None:
        """Print a line: progress, loss, and the current translation of the date."""
        samples = validated.scored.samples
        if not samples:
            return
        sample = max(samples, key=lambda sample: len(sample.source))
        if sample.translation == self._last and validated.update % _ALWAYS:
            return
        self._last = sample.translation
        if not self._first_loss:
            self._first_loss = max(validated.loss, 1e-9)
            self.say(Text(f"  updates   loss  {'':<{_BAR}}  {sample.source}", style="dim"))
        cells = round(_BAR * min(1.0, validated.loss / self._first_loss))
        bar = ("█" if self._can_draw else "#") * cells
        self.say(
            Text.assemble(
                f"  {validated.update:>7,}  {validated.loss:5.3f}  ",
                (f"{bar:<{_BAR}}", "cyan"),
                "  ",
                *_marked(sample),
                ("  ✓", "green") if self._can_draw and sample.translation == sample.reference else "",
            )
        )

    def on_checkpoint_start(self, update: int) -> None:
        """Ignore: it is frequent."""

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        """Ignore."""

    def on_message(self, text: str) -> None:
        """Print a line."""
        self.say(f"  {text}")

    def on_end(self, ended: TrainingEnded) -> None:
        """Remove the bar."""
        self._remove_bar()
        self.say()
        if not ended.is_complete:
            self.say(f"stopped after {format_count(ended.update, 'update')}; nothing is lost")

    def _new_bar(self, name: str, total: float | None) -> None:
        self._remove_bar()
        self._task = self._bar.add_task(name[:_NAME], total=total, loss="")

    def _remove_bar(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = None


def _marked(sample: ValidationSample) -> list[tuple[str, str]]:
    """Return the translation with right and wrong characters in different colours."""
    wanted = sample.reference.ljust(len(sample.translation))
    return [
        (written, "green" if written == right else "red")
        for written, right in zip(sample.translation, wanted, strict=False)
    ]
