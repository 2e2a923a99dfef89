"""Show training progress on stderr: live panels on a terminal, plain lines otherwise."""

import sys
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dragoman.cli.screens.training_samples import sample_lines, sparkline
from dragoman.reporting.number_format import format_compact, format_duration
from dragoman.reporting.safe_display_text import visible, without_controls
from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import StatusDisplay, TrainingStatus, closing, header, progress_line, scores

_REDRAWN = 2  # per second
_WIDEST = 110
_NARROW = 60  # columns below which each value has its own line
_RIGHT = 30  # columns of the right half
_LINES = (10.0, 60.0)  # seconds between plain lines: at first, and in long runs
_NOTE = 1000
_SAMPLE = 100  # characters of a source or a translation in a plain line


class _Picture:
    """Output on a terminal: a live panel drawn by a separate thread, and lines above it."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console, self._clock = console, clock
        self._status: TrainingStatus | None = None
        self._live: Live | None = None
        self._samples: tuple[object, list[list[Text]]] = (None, [])

    def begin(self, status: TrainingStatus) -> None:
        self.end()
        self._status = status
        self._live = Live(
            console=self._console,
            get_renderable=self.draw,
            refresh_per_second=_REDRAWN,
            redirect_stdout=False,  # results stay on stdout
            vertical_overflow="crop",
        )
        self._live.start()

    def update(self, status: TrainingStatus, now: float) -> None:
        """Do nothing: the thread reads the status."""

    def validate(self, status: TrainingStatus, validated: ValidationEvent) -> None:
        """Print a line; the panel has the samples."""
        best = "  best so far" if validated.is_best else ""
        self.say("★" if best else "·", f"update {validated.update:,}  {scores(validated)}{best}")

    def say(self, mark: str, text: str) -> None:
        style = {"✓": "green", "★": "green", "!": "yellow"}.get(mark, "dim")
        self._console.print(Text.assemble((mark, style), f" {without_controls(text)}"))

    def end(self) -> None:
        if self._live:
            self._live.stop()
            self._console.print()
        self._live = None

    def draw(self) -> Group:
        """Return the current panel, fitted to the size of the terminal."""
        status = self._status
        if status is None:
            return Group()
        width, height = min(self._console.width, _WIDEST), self._console.height
        lines = [Text(), Text(header(status.began), style="dim"), _bar(status, width)]
        lines += _numbers(status, self._clock(), width)
        for block in self._blocks(status, width):
            if len(lines) + len(block) < height - 1:
                lines += block
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _blocks(self, status: TrainingStatus, width: int) -> list[list[Text]]:
        """Return the lines of each sample, computed once per validation."""
        validated, before = status.validated, status.before
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


def _bar(status: TrainingStatus, width: int) -> Text:
    after = f"  {status.update:,} of {status.began.max_updates:,}"
    if status.epoch:
        after += f"  epoch {status.epoch}"
    cells = max(0, width - len(after))
    done = int(cells * status.share)
    return Text.assemble(("━" * done, "green"), ("─" * (cells - done), "dim"), (after, "bold"))


def _numbers(status: TrainingStatus, now: float, width: int) -> list[Text]:
    """Return names and values in two columns with fixed positions."""
    validated = status.validated
    last = "–"
    if status.validating_since is not None:
        last = f"at work for {format_duration(now - status.validating_since)}"
    elif validated:
        last = scores(validated)
    skipped = f"  {status.skipped:,} skipped" if status.skipped else ""
    left = [
        ("mean loss", f"{status.loss:.3f}" if status.has_begun else "–"),
        ("best", status.best or "–"),
        ("validation", last),
        ("elapsed", format_duration(now - status.started)),
    ]
    right = [
        ("speed", f"{format_compact(status.speed)} tokens/s" if status.speed else "–"),
        ("gradient", f"{status.gradient_norm:.3g}{skipped}"),
        ("rate", f"{status.learning_rate:.3g}"),
        ("left", status.left_in_words(now) or "–"),
    ]
    if width < _NARROW:
        return [_named(name, value, width) for name, value in left + right]
    lines = []
    for (name, value), other in zip(left, right, strict=True):
        line = _named(name, value, width - _RIGHT - 2)
        if name == "mean loss":
            losses = [loss for _, loss in status.curve.points]
            line.append("  ").append(sparkline(losses, width - _RIGHT - 4 - line.cell_len), style="cyan")
        line.pad_right(width - _RIGHT - line.cell_len)
        lines.append(line.append(_named(*other, _RIGHT, label=10)))
    return lines


def _named(name: str, value: str, width: int, *, label: int = 13) -> Text:
    line = Text.assemble((f"{name:<{label}}", "dim"), value)
    line.truncate(width, overflow="ellipsis")
    return line


class _Lines:
    """Output without a terminal: few plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = 0.0

    def begin(self, status: TrainingStatus) -> None:
        """Print the model and the data."""
        self._print(f"training {header(status.began)}")
        self._next = status.started + _LINES[0]

    def update(self, status: TrainingStatus, now: float) -> None:
        """Print the progress; less often in a long run."""
        if now < self._next:
            return
        first, last = _LINES
        self._next = now + min(last, max(first, (now - status.started) / 30))
        self._print(progress_line(status, now))

    def validate(self, status: TrainingStatus, validated: ValidationEvent) -> None:
        """Print the scores of a validation, with a sample."""
        best = "  best so far" if validated.is_best else ""
        took = format_duration(validated.seconds)
        self._print(f"validation @ {validated.update:,}  {scores(validated)}{best}  in {took}")
        for sample in validated.scored.samples[:1]:
            self._print(f"  {visible(sample.source, _SAMPLE)} → {visible(sample.translation, _SAMPLE)}")

    def say(self, mark: str, text: str) -> None:
        self._print(f"{mark} {text}")

    def end(self) -> None:
        """Do nothing."""

    def _print(self, line: str) -> None:
        self._console.print(without_controls(line), markup=False, highlight=False, soft_wrap=True)


_View = _Picture | _Lines


class TrainingScreen(StatusDisplay):
    """Display of training: a `TrainerCallback` and a context manager. An update costs almost no time."""

    def __init__(self, console: Console | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        # Without `force_terminal` rich takes a log for a terminal if an environment variable is set.
        console = console or Console(stderr=True, force_terminal=sys.stderr.isatty())
        can_draw = console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")
        self._view: _View | None = _Picture(console, clock) if can_draw else _Lines(console)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._show(lambda view: view.end())

    def _show(self, say: Callable[[_View], None]) -> None:
        """Show something, unless the output was closed."""
        try:
            if self._view is not None:
                say(self._view)
        except OSError:  # the terminal or the pipe was closed; training continues
            self._view = None

    def on_start(self, started: TrainingStarted) -> None:
        super().on_start(started)
        self._show(lambda view: view.end())  # of a training that was started again
        self._show_status(lambda view, status: view.begin(status))

    def on_update(self, event: StepEvent) -> None:
        super().on_update(event)
        self._show_status(lambda view, status: view.update(status, self.clock()))

    def on_validation_end(self, event: ValidationEvent) -> None:
        super().on_validation_end(event)
        self._show_status(lambda view, status: view.validate(status, event))

    def _show_status(self, say: Callable[[_View, TrainingStatus], None]) -> None:
        if (status := self.status) is not None:
            self._show(lambda view: say(view, status))

    def on_message(self, text: str) -> None:
        self._show(lambda view: view.say("!", visible(text, _NOTE)))

    def on_end(self, ended: TrainingEnded) -> None:
        super().on_end(ended)
        self._show(lambda view: view.end())
        self._show(lambda view: view.say("✓" if ended.is_complete else "–", closing(ended)))
