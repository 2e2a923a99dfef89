"""What a person sees while a model learns: a calm picture on a terminal, plain lines elsewhere. All of it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dragoman.cli.training_lines import (
    Course,
    closing,
    header,
    measure,
    sample_lines,
    scores,
    sparkline,
    standing,
)
from dragoman.data.check.figures import brief, duration
from dragoman.data.check.visible import visible
from dragoman.training.progress import Began, Ended, Moment, Validated

__all__ = ["TrainingScreen"]

_REDRAWN = 2  # times a second
_WIDEST = 110
_NARROW = 60  # columns below which everything has a line of its own
_RIGHT = 30  # columns of the right half
_LINES = (10.0, 60.0)  # seconds between two plain lines: at first, and in a run of many hours
_NOTE = 1000


class _View(Protocol):
    """Where it is shown."""

    def begin(self, course: Course) -> None: ...
    def update(self, course: Course, now: float) -> None: ...
    def validate(self, course: Course, validated: Validated) -> None: ...
    def say(self, mark: str, text: str) -> None: ...
    def end(self) -> None: ...


class _Picture:
    """A terminal: a picture that a thread of its own draws again and again, and above it lines that stay."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console, self._clock = console, clock
        self._course: Course | None = None
        self._live: Live | None = None
        self._samples: tuple[object, list[list[Text]]] = (None, [])

    def begin(self, course: Course) -> None:
        """Draw from now on."""
        self.end()
        self._course = course
        self._live = Live(
            console=self._console,
            get_renderable=self.draw,
            refresh_per_second=_REDRAWN,
            redirect_stdout=False,  # results stay on stdout
            vertical_overflow="crop",
        )
        self._live.start()

    def update(self, course: Course, now: float) -> None:
        """The thread will see it."""

    def validate(self, course: Course, validated: Validated) -> None:
        """A line that stays; the samples are part of the picture."""
        best = "  best so far" if validated.is_best else ""
        self.say("★" if best else "·", f"update {validated.update:,}  {scores(validated)}{best}")

    def say(self, mark: str, text: str) -> None:
        """A line that stays."""
        style = {"✓": "green", "★": "green", "!": "yellow"}.get(mark, "dim")
        self._console.print(Text.assemble((mark, style), f" {text}"))

    def end(self) -> None:
        """Leave the picture as it is."""
        if self._live:
            self._live.stop()
            self._console.print()
        self._live = None

    def draw(self) -> Group:
        """The picture as of now, fitted to the terminal's size."""
        course = self._course
        if course is None:
            return Group()
        width, height = min(self._console.width, _WIDEST), self._console.height
        lines = [Text(), Text(header(course.began), style="dim"), _bar(course, width)]
        lines += _numbers(course, self._clock(), width)
        for block in self._blocks(course, width):
            if len(lines) + len(block) < height - 1:
                lines += block
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _blocks(self, course: Course, width: int) -> list[list[Text]]:
        """Lines for each sample, made once a validation."""
        validated, before = course.validated, course.before
        key = (validated, width)
        if self._samples[0] != key:
            samples = validated.scored.samples if validated else ()
            colour = not self._console.no_color and self._console.color_system is not None
            blocks = []
            for number, sample in enumerate(samples):
                old = before[number] if number < len(before) and before[number].source == sample.source else None
                lines = sample_lines(sample, old, width, attention=number == 0, colour=colour)
                blocks.append([Text(), *lines])
            self._samples = (key, blocks)
        return self._samples[1]


def _bar(course: Course, width: int) -> Text:
    """How many of the updates are made."""
    most = course.began.max_updates
    share = min(1.0, course.update / most)
    after = f"  {course.update:,} of {most:,}"
    if course.epoch:
        after += f"  epoch {course.epoch}"
    cells = max(0, width - len(after))
    done = int(cells * share)
    return Text.assemble(("━" * done, "green"), ("─" * (cells - done), "dim"), (after, "bold"))


def _numbers(course: Course, now: float, width: int) -> list[Text]:
    """Names and values in two halves whose places never change."""
    validated = course.validated
    last, best = "–", "–"
    if course.validating_since is not None:
        last = f"at work for {duration(now - course.validating_since)}"
    elif validated:
        last = scores(validated)
    if validated:
        best = f"{measure(validated.metric, validated.best_value)} @ {validated.best_update:,}"
    skipped = f"  {course.skipped:,} skipped" if course.skipped else ""
    left = [
        ("loss", f"{course.loss:.3f}" if course.has_begun else "–"),
        ("best", best),
        ("validation", last),
        ("elapsed", duration(now - course.started)),
    ]
    right = [
        ("speed", f"{brief(course.speed)} tokens/s" if course.speed else "–"),
        ("gradient", f"{course.gradient_norm:.3g}{skipped}"),
        ("rate", f"{course.learning_rate:.3g}"),
        ("left", course.left_in_words(now) or "–"),
    ]
    if width < _NARROW:
        return [_named(name, value, width) for name, value in left + right]
    lines = []
    for (name, value), other in zip(left, right, strict=True):
        line = _named(name, value, width - _RIGHT - 2)
        if name == "loss":
            line.append("  ").append(sparkline(course.curve.values, width - _RIGHT - 4 - line.cell_len), style="cyan")
        line.pad_right(width - _RIGHT - line.cell_len)
        lines.append(line.append(_named(*other, _RIGHT, label=10)))
    return lines


def _named(name: str, value: str, width: int, *, label: int = 13) -> Text:
    line = Text.assemble((f"{name:<{label}}", "dim"), value)
    line.truncate(width, overflow="ellipsis")
    return line


class _Lines:
    """No terminal: a log, say. Plain lines, few of them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = 0.0

    def begin(self, course: Course) -> None:
        """Say what runs."""
        self._print(f"training {header(course.began)}")
        self._next = course.started + _LINES[0]

    def update(self, course: Course, now: float) -> None:
        """Say how far it is, now and then; less often in a long run."""
        if now < self._next:
            return
        first, last = _LINES
        self._next = now + min(last, max(first, (now - course.started) / 30))
        self._print(standing(course, now))

    def validate(self, course: Course, validated: Validated) -> None:
        """Say what it found, with a sample."""
        best = "  best so far" if validated.is_best else ""
        took = duration(validated.seconds)
        self._print(f"validation @ {validated.update:,}  {scores(validated)}{best}  in {took}")
        for sample in validated.scored.samples[:1]:
            self._print(f"  {visible(sample.source)} → {visible(sample.translation)}")

    def say(self, mark: str, text: str) -> None:
        """A line."""
        self._print(f"{mark} {text}")

    def end(self) -> None:
        """Nothing is left open."""

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Nowhere:
    """Nobody looks any more."""

    def begin(self, course: Course) -> None:
        """Nothing to show."""

    def update(self, course: Course, now: float) -> None:
        """Nothing to show."""

    def validate(self, course: Course, validated: Validated) -> None:
        """Nothing to show."""

    def say(self, mark: str, text: str) -> None:
        """Nothing to show."""

    def end(self) -> None:
        """Nothing is left open."""


class TrainingScreen:
    """Shows how training goes, as an `Observer`; used in a ``with`` statement.

    To tell it about an update costs next to nothing: it only remembers the numbers.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        stops_early: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stops_early`: training may end before its last update, so the time left is the most it can be."""
        # Without `force_terminal` rich would take an environment variable's word for it that a log is a terminal.
        console = console or Console(stderr=True, force_terminal=sys.stderr.isatty())
        can_draw = console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")
        self._view: _View = _Picture(console, clock) if can_draw else _Lines(console)
        self._stops_early, self._clock = stops_early, clock
        self._course: Course | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show(lambda view: view.end())

    def _show(self, say: Callable[[_View], None]) -> None:
        """Show something, as long as there is somebody to see it."""
        try:
            say(self._view)
        except OSError:  # the terminal or the pipe has gone; the training has not
            self._view = _Nowhere()

    def began(self, began: Began) -> None:
        """Show what runs."""
        course = self._course = Course(began, self._clock(), self._stops_early)
        self._show(lambda view: view.begin(course))

    def updated(self, moment: Moment) -> None:
        """Remember it."""
        if (course := self._course) is not None:
            course.add(moment)
            self._show(lambda view: view.update(course, self._clock()))

    def validating(self, update: int) -> None:
        """Show that this is why no updates are made."""
        if self._course:
            self._course.validating_since = self._clock()

    def validated(self, validated: Validated) -> None:
        """Show what it found."""
        if (course := self._course) is not None:
            course.validate(validated)
            self._show(lambda view: view.validate(course, validated))

    def saving(self, update: int) -> None:
        """No news: it happens all the time."""

    def saved(self, update: int, folder: Path) -> None:
        """No news either."""

    def noted(self, text: str) -> None:
        """Show it in a line that stays."""
        self._show(lambda view: view.say("!", visible(text, _NOTE)))

    def ended(self, ended: Ended) -> None:
        """Say how it ended."""
        mark = "✓" if ended.is_complete else "–"
        self._show(lambda view: view.end())
        self._show(lambda view: view.say(mark, closing(ended)))
