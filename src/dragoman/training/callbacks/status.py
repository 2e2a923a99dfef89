"""The status of a training, which terminal, notebook and page show: throughput, time left, smoothed loss, texts."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dragoman.reporting.number_format import (
    format_compact,
    format_count,
    format_duration,
    format_remaining,
    metric_title,
)
from dragoman.reporting.safe_display_text import visible
from dragoman.reporting.stage_progress import RemainingTime
from dragoman.training.callbacks.events import CallbackList, StepEvent, TrainingEnded, TrainingStarted, ValidationEvent

_WINDOW = 30.0  # seconds of training over which throughput is measured
_MARKED = 0.5  # seconds of training between entries of that window
_MEMORY = 0.98  # decay of the moving mean of the loss
_LINES = (10.0, 60.0)  # seconds between lines of progress: at first, and in long runs
_NOTE, _SAMPLE = 1000, 100  # characters of a message, of a source or a translation
_CLOSING = {
    "finished": "finished",
    "no better": "stopped early, without improvement",
    "terminated": "stopped by a signal",
    "interrupted": "interrupted",
}


@dataclass
class TrainingStatus:
    """Counters and averages of a training run; an update costs a few additions."""

    began: TrainingStarted
    started: float
    """Time of the start, in seconds."""
    update: int = 0
    epoch: int = 0
    loss: float = 0.0
    """Exponential moving mean: about the last 50 updates since the start or resume."""
    skipped: int = 0
    validated: ValidationEvent | None = None
    validating_since: float | None = None
    ended: TrainingEnded | None = None
    _tokens: int = 0
    _seconds: float = 0.0
    _known: float = 0.0
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)
    _remaining: RemainingTime = field(default_factory=RemainingTime)

    def __post_init__(self) -> None:
        self.update = self.began.update
        self._marks.append((0.0, 0, self.update))

    def add(self, moment: StepEvent) -> None:
        """Record an update, or a skipped one."""
        self.update, self.epoch = moment.update, moment.epoch
        self.validating_since = None
        self._seconds += moment.seconds
        self.skipped += bool(moment.skipped)
        if not moment.skipped and math.isfinite(moment.loss):
            self._tokens += moment.tokens
            self._known = _MEMORY * self._known + 1 - _MEMORY  # bias correction of the first losses
            self.loss += (moment.loss - self.loss) * (1 - _MEMORY) / self._known
        if self._seconds >= self._marks[-1][0] + _MARKED:
            self._marks.append((self._seconds, self._tokens, self.update))
            while len(self._marks) > 2 and self._marks[1][0] < self._seconds - _WINDOW:
                self._marks.popleft()

    def validate(self, validated: ValidationEvent) -> None:
        self.validated, self.validating_since = validated, None

    @property
    def activity(self) -> str:
        if self.ended is not None:
            return "Scoring held-out sets"
        return "Training" if self.validating_since is None else "Validating"

    @property
    def share(self) -> float:
        """Completed share of the updates, from 0 to 1."""
        return min(1.0, self.update / max(1, self.began.max_updates))

    @property
    def has_begun(self) -> bool:
        return self._known > 0

    @property
    def speed(self) -> float:
        """Recent tokens per second, without validations."""
        seconds, tokens, _ = self._marks[0]
        return (self._tokens - tokens) / (self._seconds - seconds) if self._seconds > seconds else 0.0

    @property
    def best(self) -> str:
        """The best validation so far, that of the checkpoint of a resumed run included; empty if there is none."""
        last = self.validated or self.began
        if last.best_value is None or last.best_update is None:
            return ""
        return _at_update(last.metric, last.best_value, last.best_update)

    def left(self, now: float) -> float | None:
        """Estimated seconds to the last update, smoothed, with as many pauses as so far; None if unknown."""
        made = self.update - self.began.update
        seconds, _, update = self._marks[0]
        if made <= 0 or self.update <= update or self.update >= self.began.max_updates:
            return None
        pause = max(0.0, now - self.started - self._seconds) / made
        per_update = (self._seconds - seconds) / (self.update - update) + pause
        return self._remaining.update(now, (self.began.max_updates - self.update) * per_update)

    def left_in_words(self, now: float) -> str:
        """Estimated remaining time as text."""
        left = self.left(now)
        if left is None:
            return ""
        return f"{'at most ' if self.began.stops_early else ''}{format_remaining(left)}"


class StatusDisplay(CallbackList):
    """A callback that keeps the status of a training, for a display of it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock = clock
        self.status: TrainingStatus | None = None

    def on_start(self, started: TrainingStarted) -> None:
        self.status = TrainingStatus(started, self.clock())

    def on_update(self, event: StepEvent) -> None:
        if self.status is not None:
            self.status.add(event)

    def on_validation_start(self, update: int) -> None:
        if self.status is not None:
            self.status.validating_since = self.clock()

    def on_validation_end(self, event: ValidationEvent) -> None:
        if self.status is not None:
            self.status.validate(event)

    def on_end(self, ended: TrainingEnded) -> None:
        if self.status is not None:
            self.status.ended = ended


class TrainingDisplay(StatusDisplay):
    """Shows a training as lines, for instance in a notebook. An update costs almost no time."""

    next_line = 0.0
    """Time of the next line of progress."""

    def show(self, mark: str, text: str) -> None:
        """Show a line; `mark` is empty, or one character."""
        print(f"{mark} {text}".strip(), flush=True)  # noqa: T201 -- the output of a cell

    def on_start(self, started: TrainingStarted) -> None:
        super().on_start(started)
        self.next_line = self.clock() + _LINES[0]
        self.show("", f"training {header(started)}")

    def on_update(self, event: StepEvent) -> None:
        super().on_update(event)
        status, now = self.status, self.clock()
        if status is not None and now >= self.next_line:
            first, last = _LINES
            self.next_line = now + min(last, max(first, (now - status.started) / 30))
            self.show("", progress_line(status, now))

    def on_validation_end(self, event: ValidationEvent) -> None:
        super().on_validation_end(event)
        if self.status is None:
            return
        best, took = "  best so far" if event.is_best else "", format_duration(event.seconds)
        self.show("", f"validation @ {event.update:,}  {scores(event)}{best}  in {took}")
        for sample in event.scored.samples[:1]:
            self.show("", f"  {visible(sample.source, _SAMPLE)} → {visible(sample.translation, _SAMPLE)}")

    def on_message(self, text: str) -> None:
        self.show("!", visible(text, _NOTE))

    def on_end(self, ended: TrainingEnded) -> None:
        super().on_end(ended)
        self.show("✓" if ended.is_complete else "–", closing(ended))


def header(began: TrainingStarted) -> str:
    """Describe the model and the data."""
    parts = [
        visible(str(began.folder), 60),
        parameter_count(began),
        format_count(began.processes, "process", "processes"),
        visible(began.device, 40),
    ]
    if began.update:
        parts.append(f"continues from update {began.update:,}")
    return " · ".join(parts)


def parameter_count(began: TrainingStarted) -> str:
    """Format the number of parameters, and how many of them are trained."""
    total = f"{format_compact(began.parameters)} parameters"
    if began.trainable is None:
        return total
    share = began.trainable / began.parameters
    return f"{total}, {format_compact(began.trainable)} trained ({share:.1%})"


def measure(name: str, value: float) -> str:
    """Format a loss or a score with its name."""
    return f"loss {value:.3f}" if name == "loss" else f"{visible(metric_title(name), 20)} {value:.1f}"


def _at_update(metric: str, value: float, update: int) -> str:
    return f"{measure(metric, value)} @ {update:,}"


def scores(validated: ValidationEvent) -> str:
    """Format the results of a validation."""
    found: Mapping[str, float] = {"loss": validated.loss, **validated.scored.scores}
    return "  ".join(measure(name, value) for name, value in found.items())


def progress_line(status: TrainingStatus, now: float) -> str:
    """Format the progress in one line."""
    left = status.left_in_words(now)
    parts = [
        f"update {status.update:,}/{status.began.max_updates:,}",
        f"epoch {status.epoch}" if status.epoch else "",
        f"mean loss {status.loss:.3f}" if status.has_begun else "",
        f"{format_compact(status.speed)} tokens/s" if status.speed else "",
        f"{left} left" if left else "",
        f"best {status.best}" if status.best else "",
        f"{status.skipped:,} skipped" if status.skipped else "",
    ]
    return "  ".join(part for part in parts if part)


def closing(ended: TrainingEnded) -> str:
    """Describe how training ended."""
    why = _CLOSING.get(ended.why, visible(ended.why))
    since = f" since update {ended.resumed_at:,}" if ended.resumed_at else ""
    parts = [f"{why}: {format_count(ended.update, 'update')}", f"{format_duration(ended.seconds)}{since}"]
    if ended.best_value is not None and ended.best_update is not None:
        parts.append(f"best {_at_update(ended.metric, ended.best_value, ended.best_update)}")
    return ", ".join(parts)
