"""What is said of a training that runs: its numbers, and its samples as coloured lines."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dragoman.data.check.figures import brief, counted, duration
from dragoman.data.check.visible import visible
from dragoman.training.progress import Began, Ended, Moment, Sample, Validated

__all__ = ["Course", "closing", "header", "measure", "sample_lines", "scores", "sparkline", "standing"]

_WINDOW = 30.0  # seconds of training over which speed is measured
_MARKED = 0.5  # seconds of training between two marks of that window
_MEMORY = 0.98  # of the smoothed loss
_CELLS = 40  # a curve keeps between so many values and twice as many
_HEIGHTS = "▁▂▃▄▅▆▇█"
_LABEL = 13
_LEAST = 8  # columns beside it, however narrow the terminal is
_MOST_LINES = 2  # of a source, a reference or a translation
_MOST_ROWS = 3  # of words with what they look at
_HEAT = (
    (0.8, "#000000 on #fde725"),
    (0.6, "#000000 on #7ad151"),
    (0.4, "#ffffff on #22848d"),
    (0.0, "#ffffff on #414487"),
)
_CLOSING = {
    "finished": "finished",
    "no better": "stopped, as it got no better",
    "terminated": "stopped, as it was asked to",
    "interrupted": "interrupted",
}


class _Curve:
    """The course of a number since the beginning; as it grows longer, neighbours become one."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._sum, self._count, self._stride = 0.0, 0, 1

    def add(self, value: float) -> None:
        """One more."""
        self._sum += value
        self._count += 1
        if self._count == self._stride:
            self.values.append(self._sum / self._count)
            self._sum, self._count = 0.0, 0
        if len(self.values) == 2 * _CELLS:  # a new list: another thread may be drawing the old one
            self.values = [(a + b) / 2 for a, b in zip(self.values[::2], self.values[1::2], strict=True)]
            self._stride *= 2


@dataclass
class Course:
    """Where training is. Told of every update; all it does then is to add some numbers up."""

    began: Began
    started: float
    """When, by the clock of the one who asks."""
    stops_early: bool = False
    update: int = 0
    epoch: int = 0
    loss: float = 0.0
    """Smoothed."""
    gradient_norm: float = 0.0
    learning_rate: float = 0.0
    skipped: int = 0
    curve: _Curve = field(default_factory=_Curve)
    validated: Validated | None = None
    before: tuple[Sample, ...] = ()
    """The samples of the validation before the last."""
    validating_since: float | None = None
    _tokens: int = 0
    _seconds: float = 0.0
    _known: float = 0.0
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.update = self.began.update
        self._marks.append((0.0, 0, self.update))

    def add(self, moment: Moment) -> None:
        """An update was made, or skipped."""
        self.update, self.epoch, self.learning_rate = moment.update, moment.epoch, moment.learning_rate
        self.validating_since = None
        self._seconds += moment.seconds
        self.skipped += bool(moment.skipped)
        if not moment.skipped and math.isfinite(moment.loss):
            self._tokens += moment.tokens
            self.gradient_norm = moment.gradient_norm
            self._known = _MEMORY * self._known + 1 - _MEMORY  # so that the first losses are not mixed with zero
            self.loss += (moment.loss - self.loss) * (1 - _MEMORY) / self._known
            self.curve.add(self.loss)
        if self._seconds >= self._marks[-1][0] + _MARKED:
            self._marks.append((self._seconds, self._tokens, self.update))
            while len(self._marks) > 2 and self._marks[1][0] < self._seconds - _WINDOW:
                self._marks.popleft()

    def validate(self, validated: Validated) -> None:
        """The validation set was looked at."""
        if self.validated is not None:
            self.before = self.validated.scored.samples
        self.validated, self.validating_since = validated, None

    @property
    def has_begun(self) -> bool:
        """Whether a loss is known."""
        return self._known > 0

    @property
    def speed(self) -> float:
        """Tokens a second of the last while, validations left out."""
        seconds, tokens, _ = self._marks[0]
        return (self._tokens - tokens) / (self._seconds - seconds) if self._seconds > seconds else 0.0

    def left(self, now: float) -> float | None:
        """Seconds to the last update, if known: at the present speed, with as many pauses as so far."""
        made = self.update - self.began.update
        seconds, _, update = self._marks[0]
        if made <= 0 or self.update <= update or self.update >= self.began.max_updates:
            return None
        pause = max(0.0, now - self.started - self._seconds) / made
        return (self.began.max_updates - self.update) * ((self._seconds - seconds) / (self.update - update) + pause)

    def left_in_words(self, now: float) -> str:
        """The same as people say it."""
        left = self.left(now)
        if left is None:
            return ""
        return f"{'at most ' if self.stops_early else ''}{duration(left)}"


def header(began: Began) -> str:
    """What is about to run."""
    parts = [
        visible(str(began.folder), 60),
        f"{brief(began.parameters)} parameters",
        counted(began.processes, "process", "processes"),
        visible(began.device, 40),
    ]
    if began.update:
        parts.append(f"goes on from update {began.update:,}")
    return " · ".join(parts)


def measure(name: str, value: float) -> str:
    """A loss, or a score, with its name."""
    return f"{visible(name, 20)} {value:.3f}" if name == "loss" else f"{visible(name, 20)} {value:.1f}"


def scores(validated: Validated) -> str:
    """All that a validation found."""
    found: Mapping[str, float] = {"loss": validated.loss, **validated.scored.scores}
    return "  ".join(measure(name, value) for name, value in found.items())


def standing(course: Course, now: float) -> str:
    """Where training is, in a line."""
    left, validated = course.left_in_words(now), course.validated
    parts = [
        f"update {course.update:,}/{course.began.max_updates:,}",
        f"epoch {course.epoch}" if course.epoch else "",
        f"loss {course.loss:.3f}" if course.has_begun else "",
        f"{brief(course.speed)} tokens/s" if course.speed else "",
        f"{left} left" if left else "",
        f"best {measure(validated.metric, validated.best_value)} @ {validated.best_update:,}" if validated else "",
        f"{course.skipped:,} skipped" if course.skipped else "",
    ]
    return "  ".join(part for part in parts if part)


def closing(ended: Ended) -> str:
    """How it ended."""
    why = _CLOSING.get(ended.why, visible(ended.why))
    parts = [f"{why}: {counted(ended.update, 'update')}", f"{duration(ended.seconds)}"]
    if ended.best_value is not None and ended.best_update is not None:
        parts.append(f"best {measure(ended.metric, ended.best_value)} @ {ended.best_update:,}")
    return ", ".join(parts)


def sparkline(values: Sequence[float], width: int) -> str:
    """Values as bars of eighths, from the lowest to the highest of them, in at most `width` cells."""
    count = min(len(values), width)
    edges = [cell * len(values) // count for cell in range(count + 1)] if count > 0 else []
    cells = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    if not cells:
        return ""
    lowest, range_ = min(cells), max(cells) - min(cells)
    return "".join(_HEIGHTS[round(7 * (cell - lowest) / range_) if range_ else 0] for cell in cells)


def sample_lines(sample: Sample, before: Sample | None, width: int, *, attention: bool, colour: bool) -> list[Text]:
    """A sample in some lines; words that were not there before stand out, and each may show what it looks at."""
    lines = list(_labelled("source", Text(visible(sample.source), style="dim"), width))
    lines += _labelled("reference", Text(visible(sample.reference), style="dim"), width)
    if attention and sample.weights and sample.source_words and sample.target_words:
        return lines + list(_looking(sample, before, width, colour=colour))
    old = _words(visible(before.translation)) if before else None
    return lines + list(_labelled("translation", _changed(_words(visible(sample.translation)), old), width))


def _labelled(label: str, text: Text, width: int) -> Iterator[Text]:
    """A text beside its name, wrapped; what is too long for its lines is cut."""
    room = max(_LEAST, width - _LABEL)
    lines = list(text.wrap(Console(width=room), room)) or [Text()]
    if len(lines) > _MOST_LINES:
        rest = Text("").join([*lines[_MOST_LINES - 1 :]])
        rest.truncate(room, overflow="ellipsis")
        lines = [*lines[: _MOST_LINES - 1], rest]
    for number, line in enumerate(lines):
        line.rstrip()
        yield Text.assemble((f"{'' if number else label:<{_LABEL}}", "dim"), line)


def _words(text: str) -> list[str]:
    """Words with the space after them; of scripts that are written without, characters."""
    return re.findall(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]\s*|[^\s\u2e80-\u9fff]+\s*|\s+", text)


def _changed(words: Sequence[str], before: Sequence[str] | None) -> Text:
    """Words one after the other, those that are new since `before` in colour."""
    text = Text()
    for word, is_new in zip(words, _is_new(words, before), strict=True):
        text.append(word.rstrip(), style="bold green" if is_new else "").append(word[len(word.rstrip()) :])
    return text


def _is_new(words: Sequence[str], before: Sequence[str] | None) -> list[bool]:
    """Of each word, whether it is new since `before`."""
    is_new = [before is not None] * len(words)
    if before is not None:
        old, now = [[word.strip() for word in side] for side in (before, words)]
        for block in SequenceMatcher(None, old, now, autojunk=False).get_matching_blocks():
            is_new[block.b : block.b + block.size] = [False] * block.size
    return is_new


def _looking(sample: Sample, before: Sample | None, width: int, *, colour: bool) -> Iterator[Text]:
    """Each word of a translation above the word of the source that it looks at most, the warmer the more."""
    room, rows = max(_LEAST, width - _LABEL), 0
    above, below = Text(), Text()
    words, sources = ([_fitted(word, room - 2) for word in side] for side in (sample.target_words, sample.source_words))
    is_new = _is_new(words, [_fitted(word, room - 2) for word in before.target_words] if before else None)
    for word, is_it, weights in zip(words, is_new, sample.weights or (), strict=False):
        source, style = _looked_at(sources, weights, colour=colour)
        cells = max(cell_len(word), cell_len(source)) + 1
        if above.cell_len and above.cell_len + cells > room:
            rows += 1
            yield from _rows(above, below, is_first=rows == 1)
            if rows == _MOST_ROWS:
                return
            above, below = Text(), Text()
        above.append(word, style="bold green" if is_it else "").append(" " * (cells - cell_len(word)))
        below.append(source, style=style).append(" " * (cells - cell_len(source)))
    yield from _rows(above, below, is_first=rows == 0)


def _rows(above: Text, below: Text, *, is_first: bool) -> Iterator[Text]:
    for label, line in (("translation", above), ("looks at", below)):
        yield Text.assemble((f"{label if is_first else '':<{_LABEL}}", "dim"), line)


def _looked_at(source_words: Sequence[str], weights: Sequence[float], *, colour: bool) -> tuple[str, str]:
    """The word of the source with the largest weight, and its style; a bar tells the weight where colours cannot."""
    weight, word = max(zip(weights, source_words, strict=False), default=(0.0, ""), key=lambda pair: pair[0])
    if colour:
        return word, next((style for least, style in _HEAT if weight >= least), "")
    return f"{_HEIGHTS[min(7, int(8 * min(1.0, max(0.0, weight))))]}{word}", ""


def _fitted(word: str, cells: int) -> str:
    """A word as it is shown, cut where it is too wide."""
    shown = Text(visible(word.strip()) or "·")
    shown.truncate(cells, overflow="ellipsis")
    return shown.plain
