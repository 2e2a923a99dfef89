"""What a person sees while the demonstration runs: a date that is translated better and better. All of it on stderr."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from dragoman.data.check.figures import counted
from dragoman.training.progress import Began, Ended, Moment, Sample, Validated

__all__ = ["DemoScreen"]

_BAR = 24  # cells of the first loss
_REDRAWN = 0.1  # seconds between two looks at the numbers of the bar
_NAME = 34
_ALWAYS = 100  # updates between two lines, if the date stays as it was


class DemoScreen:
    """Shows preparation as a `Progress` and training as an `Observer`; used in a ``with`` statement.

    A line stays for each look at the validation set that has news; below them a terminal has a bar.
    """

    def __init__(self, console: Console | None = None) -> None:
        # Without `force_terminal` rich would take an environment variable's word for it that a log is a terminal.
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
        """A line that stays."""
        self._console.print(line, markup=False, soft_wrap=True)

    # ------------------------------------------------------------------------------------------------- preparation

    def begin(self, stage: str) -> None:
        """Another stage, with a bar of its own; it only swings until something is known."""
        self._new_bar(stage, None)

    def advance(self, share: float, pairs: int = 0) -> None:
        """The stage goes on."""
        if self._task is not None:
            self._bar.update(self._task, completed=share, total=1.0)

    def skip(self, stage: str) -> None:
        """Nothing to do for it."""

    # ---------------------------------------------------------------------------------------------------- training

    def began(self, began: Began) -> None:
        """Say what learns."""
        goes_on = f", going on from update {began.update:,}" if began.update else ""
        self.say(f"A network of {began.parameters:,} weights learns from them{goes_on}.")
        self.say("One date that it is never told, asked again and again:\n")
        self._new_bar("learning", began.max_updates)
        if self._task is not None:
            self._bar.update(self._task, completed=began.update)

    def updated(self, moment: Moment) -> None:
        """Move the bar."""
        now = time.monotonic()
        if self._task is not None and now >= self._next:
            self._next = now + _REDRAWN
            self._bar.update(self._task, completed=moment.update, loss=f"loss {moment.loss:.3f}")

    def validating(self, update: int) -> None:
        """No news: it takes a moment."""

    def validated(self, validated: Validated) -> None:
        """A line: how far it is, how much it errs, and the same date as last time, in its latest translation."""
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

    def saving(self, update: int) -> None:
        """No news: it happens all the time."""

    def saved(self, update: int, folder: Path) -> None:
        """No news either."""

    def noted(self, text: str) -> None:
        """A line."""
        self.say(f"  {text}")

    def ended(self, ended: Ended) -> None:
        """Make room for what comes."""
        self._remove_bar()
        self.say()
        if not ended.is_complete:
            self.say(f"stopped after {counted(ended.update, 'update')}; nothing is lost")

    def _new_bar(self, name: str, total: float | None) -> None:
        self._remove_bar()
        self._task = self._bar.add_task(name[:_NAME], total=total, loss="")

    def _remove_bar(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = None


def _marked(sample: Sample) -> list[tuple[str, str]]:
    """The translation with what is right and what is wrong in colours of their own."""
    wanted = sample.reference.ljust(len(sample.translation))
    return [
        (written, "green" if written == right else "red")
        for written, right in zip(sample.translation, wanted, strict=False)
    ]
