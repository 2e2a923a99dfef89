"""Layout of figures with labels at the left and values on a horizontal axis."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, inf, log10
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dragoman.reporting.safe_display_text import visible

WIDTH = 920
LEFT, RIGHT = 356, 722  # ends of the axis; labels are before it, notes behind it
MARGIN = 14
LINE = 16  # height of a line of text
AXIS, LEGEND = 48, 30  # heights
_TITLE = 40  # height of a title of one line
_TITLE_COLUMNS, _LABEL_COLUMNS = 120, 55  # characters per line; wide ones count twice
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)
_MAX_TICKS = 6


@dataclass(frozen=True)
class HorizontalScale:
    """Maps values from `low` to `high` to pixels."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float], limits: tuple[float, float] = (-inf, inf)) -> HorizontalScale:
        """Return an axis slightly longer than the values require, within the limits."""
        known = list(values)
        low, high = min(known), max(known)
        room = 0.06 * (high - low) or 0.5
        return cls(max(low - room, limits[0]), min(high + room, limits[1]))

    def place(self, value: float) -> float:
        """Return the position of a value; one outside the axis is at its end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return LEFT + share * (RIGHT - LEFT)

    def contains(self, value: float) -> bool:
        """Whether a value is on the axis."""
        return self.low <= value <= self.high

    def ticks(self) -> list[tuple[float, str]]:
        """Return positions and texts of round values."""
        span = self.high - self.low
        size = 10.0 ** floor(log10(span / _MAX_TICKS))
        step = next(size * nice for nice in _NICE if span / (size * nice) <= _MAX_TICKS)
        values = [step * number for number in range(ceil(self.low / step), floor(self.high / step) + 1)]
        return [(self.place(value), axis_number(value)) for value in values]


def heading(title: str) -> tuple[list[str], int]:
    """Return the lines of a title, and the top of what follows."""
    lines = wrapped(title, _TITLE_COLUMNS)
    return lines, _TITLE + LINE * (len(lines) - 1)


def label(text: str, space: int) -> tuple[list[str], int]:
    """Return the lines of the label of a row, and the height of the row, with `space` between rows."""
    lines = wrapped(text, _LABEL_COLUMNS)
    return lines, LINE * len(lines) + space


def axis_number(value: float) -> str:
    """Return a number with a minus sign instead of a hyphen."""
    return f"{value:g}".replace("-", "−")


def wrapped(text: str, columns: int) -> list[str]:
    """Break a text at spaces, or after any wide character, which counts as two columns."""
    lines, used = [""], 0
    for part in _parts(text):
        width = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in part)
        if used + len(part.rstrip()) > columns and lines[-1]:
            lines.append("")
            used = 0
        lines[-1] += part
        used += width
    return [line.strip() for line in lines]


def _parts(text: str) -> list[str]:
    """Split a text into words with the space behind them, and single wide characters with the punctuation behind."""
    parts = [""]
    for letter in text:
        is_wide = unicodedata.east_asian_width(letter) in "WF"
        is_mark = unicodedata.category(letter).startswith("P") and letter not in "（《"
        after_wide = bool(parts[-1]) and unicodedata.east_asian_width(parts[-1][-1]) in "WF"
        if not is_mark and (is_wide or after_wide or parts[-1].endswith(" ")):
            parts.append("")
        parts[-1] += letter
    return [part for part in parts if part]


def render(template: str, **values: object) -> str:
    """Render a figure; strings among the values are escaped."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = visible
    return environment
