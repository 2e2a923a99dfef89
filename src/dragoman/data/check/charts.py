"""Charts as inline SVG.

Across, everything is in per cent of the width, and down in pixels: a chart fills what room there is, and its letters
keep their size. Each chart has a title and a description that says in words what is to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log

__all__ = ["Axis", "Column", "bar", "chart", "linear_columns", "log_columns", "quantile", "waterfall_bar"]

_HEIGHT = 150  # of the columns
_LABELS = 22  # below them
_MOST_COLUMNS = 90


@dataclass(frozen=True)
class Column:
    """One column of a histogram: where it begins and ends (0 to 1), its height (any unit), and what it stands for."""

    left: float
    right: float
    height: float
    label: str
    kind: str = ""


@dataclass(frozen=True)
class Axis:
    """Below the columns: labels at places (0 to 1), and upright lines with a name."""

    ticks: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str, str]] = ()
    """Place, words, and class of each line."""


def log_columns(counts: Sequence[int], edges: Sequence[float], unit: str) -> tuple[list[Column], float, float]:
    """Columns over a logarithmic axis, with the logarithms of its two ends.

    A column's area, not its height, is the number of pairs: bins of whole numbers are unequally wide.
    """
    ends = [*edges[1:], edges[-1] ** 2 / edges[-2]]
    low, high = log(edges[0]), log(ends[-1])
    columns = []
    for number, (count, left, right) in enumerate(zip(counts, edges, ends, strict=True)):
        span = f"{_edge(left)} and more" if number == len(edges) - 1 else f"{_edge(left)} to {_edge(right)}"
        columns.append(
            Column(
                (log(left) - low) / (high - low),
                (log(right) - low) / (high - low),
                count / log(right / left),
                f"{span} {unit}: {count:,} pairs",
            )
        )
    return columns, low, high


def _edge(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.2f}"


def linear_columns(inner: Sequence[int], over: int, unit: str) -> tuple[list[Column], float]:
    """Columns over 0, 1, 2, …, several to a column if there are many; that of all larger ones stands apart.

    Also gives the place of the line between them.
    """
    step = max(1, ceil(len(inner) / _MOST_COLUMNS))
    slots = ceil(len(inner) / step) + 2  # an empty one, and one for all larger
    columns = []
    for slot, first in enumerate(range(0, len(inner), step)):
        last = min(first + step, len(inner)) - 1
        span = f"{first}" if first == last else f"{first} to {last}"
        count = sum(inner[first : last + 1])
        # a short group at the end is drawn as high as if it were full
        columns.append(
            Column(
                slot / slots, (slot + 1) / slots, count * step / (last - first + 1), f"{span} {unit}: {count:,} pairs"
            )
        )
    columns.append(Column((slots - 1) / slots, 1.0, over, f"more than {len(inner) - 1} {unit}: {over:,} pairs", "over"))
    return columns, (slots - 1.5) / slots


def chart(title: str, description: str, columns: Sequence[Column], axis: Axis, *, name: str, kind: str) -> str:
    """A histogram. `name` is unique on the page; `kind` is the class of its columns."""
    top = max((column.height for column in columns), default=0) or 1
    drawn = "\n".join(_column(column, top, kind) for column in columns if column.height)
    ticks = "".join(
        f'<text x="{_per_cent(place)}" y="{_HEIGHT + 16}" text-anchor="{_anchor(place)}">{escape(words)}</text>'
        for place, words in axis.ticks
    )
    marks = "".join(
        f'<line class="{kind_}" x1="{_per_cent(place)}" x2="{_per_cent(place)}" y1="-2" y2="{_HEIGHT}"/>'
        f'<text x="{_per_cent(place)}" y="-6" text-anchor="{_anchor(place)}">{escape(words)}</text>'
        for place, words, kind_ in axis.marks
    )
    return (
        f'<svg role="img" aria-labelledby="{name}-title {name}-desc" height="{_HEIGHT + _LABELS + 16}">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f'<svg y="16" height="{_HEIGHT + _LABELS}">\n{drawn}\n'
        f'<line class="axis" x1="0" x2="100%" y1="{_HEIGHT}" y2="{_HEIGHT}"/>{ticks}{marks}</svg></svg>'
    )


def _column(column: Column, top: float, kind: str) -> str:
    height = max(1.0, _HEIGHT * column.height / top)  # what is there can be seen
    width = max(column.right - column.left - 0.001, 0.001)
    return (
        f'<rect class="column {column.kind or kind}" x="{_per_cent(column.left)}" y="{_HEIGHT - height:.1f}" '
        f'width="{_per_cent(width)}" height="{height:.1f}"><title>{escape(column.label)}</title></rect>'
    )


def bar(share: float, kind: str) -> str:
    """A bar in a cell of a table, whose numbers say the same."""
    return (
        '<svg aria-hidden="true" height="20"><rect class="track" y="6" width="100%" height="10" rx="2"/>'
        f'<rect class="{kind}" y="6" width="{_per_cent(share)}" height="10" rx="2"/></svg>'
    )


def waterfall_bar(left: int, gone: int, read: int) -> str:
    """What is left, and beside it what has just gone, in a cell of a table whose numbers say the same."""
    kept, lost = left / read, gone / read
    fall = f'<rect class="drop" x="{_per_cent(kept)}" y="6" width="{_per_cent(max(lost, 0.004))}" height="10"/>'
    return (
        '<svg aria-hidden="true" height="20"><rect class="track" y="6" width="100%" height="10" rx="2"/>'
        f'<rect class="left" y="6" width="{_per_cent(kept)}" height="10" rx="2"/>{fall if gone else ""}</svg>'
    )


def quantile(counts: Sequence[int], edges: Sequence[float], share: float) -> float:
    """Up to which edge this share of the counts lies, as exactly as the bins tell."""
    wanted, seen = share * sum(counts), 0
    for count, right in zip(counts, [*edges[1:], edges[-1]], strict=True):
        seen += count
        if seen >= wanted:
            return right
    return edges[-1]


def _per_cent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _anchor(place: float) -> str:
    """Labels at the ends of an axis must not stick out."""
    return "start" if place < 0.03 else "end" if place > 0.9 else "middle"
