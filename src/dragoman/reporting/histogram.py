"""Draw histograms and bar charts as inline SVG.

Horizontal positions are percentages and vertical ones pixels: a chart fills the available width, and its text keeps its
size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

from dragoman.reporting.html import render

_HEIGHT = 150  # pixels
_MAX_BARS = 90
_MIN_WIDTH = 0.004  # of the change in a waterfall


@dataclass(frozen=True)
class HistogramBar:
    """A bar: its left and right end (0 to 1), its height in any unit, and its description."""

    left: float
    right: float
    height: float
    label: str
    kind: str = ""


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: labels at positions from 0 to 1, and vertical lines as (position, label, CSS class)."""

    ticks: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str, str]] = ()


def log_bars(counts: Sequence[int], edges: Sequence[float], unit: str) -> tuple[list[HistogramBar], float, float]:
    """Return bars on a logarithmic axis and the logarithms of its ends.

    The area of a bar is the number of pairs, not its height: bins of whole numbers have unequal widths.
    """
    ends = [*edges[1:], edges[-1] ** 2 / edges[-2]]
    low, high = log(edges[0]), log(ends[-1])
    bars = []
    for number, (count, left, right) in enumerate(zip(counts, edges, ends, strict=True)):
        span = f"{_edge(left)} and more" if number == len(edges) - 1 else f"{_edge(left)} to {_edge(right)}"
        bars.append(
            HistogramBar(
                (log(left) - low) / (high - low),
                (log(right) - low) / (high - low),
                count / log(right / left),
                f"{span} {unit}: {count:,} pairs",
            )
        )
    return bars, low, high


def _edge(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.2f}"


def linear_bars(counts: Sequence[int], over: int, unit: str) -> tuple[list[HistogramBar], float]:
    """Return bars over 0, 1, 2, …, grouped if there are many, a separate bar for `over`, and the line between them."""
    step = max(1, ceil(len(counts) / _MAX_BARS))
    slots = ceil(len(counts) / step) + 2  # an empty slot, and one for `over`
    bars = []
    for slot, first in enumerate(range(0, len(counts), step)):
        last = min(first + step, len(counts)) - 1
        span = f"{first}" if first == last else f"{first} to {last}"
        count = sum(counts[first : last + 1])
        height = count * step / (last - first + 1)  # an incomplete group at the end is scaled to a complete one
        bars.append(HistogramBar(slot / slots, (slot + 1) / slots, height, f"{span} {unit}: {count:,} pairs"))
    label = f"more than {len(counts) - 1} {unit}: {over:,} pairs"
    bars.append(HistogramBar((slots - 1) / slots, 1.0, over, label, "over"))
    return bars, (slots - 1.5) / slots


def histogram_svg(
    title: str, description: str, bars: Sequence[HistogramBar], axis: Axis, *, name: str, kind: str
) -> str:
    """Draw a histogram. `name` is unique on the page; `kind` is the CSS class of the bars."""
    top = max((each.height for each in bars), default=0) or 1
    drawn = [
        (
            each.kind or kind,
            each.left,
            max(each.right - each.left - 0.001, 0.001),
            max(1.0, _HEIGHT * each.height / top),  # at least one pixel
            each.label,
        )
        for each in bars
        if each.height
    ]
    return render(
        "histogram.svg",
        title=title,
        description=description,
        bars=drawn,
        ticks=[(place, _anchor(place), words) for place, words in axis.ticks],
        marks=[(place, _anchor(place), words, mark) for place, words, mark in axis.marks],
        name=name,
        height=_HEIGHT,
    )


def bar_svg(share: float, kind: str) -> str:
    """Draw a share as a bar for a table cell."""
    return render("bar.svg", kind=kind, share=share, drop=0.0)


def waterfall_svg(left: int, dropped: int, total: int) -> str:
    """Draw what is left of a total and, next to it, what was just dropped."""
    return render("bar.svg", kind="left", share=left / total, drop=max(dropped / total, _MIN_WIDTH) if dropped else 0.0)


def quantile(counts: Sequence[int], edges: Sequence[float], share: float) -> float:
    """Return the right edge of the bin in which this share of the counts is reached."""
    target, seen = share * sum(counts), 0
    for count, right in zip(counts, [*edges[1:], edges[-1]], strict=True):
        seen += count
        if seen >= target:
            return right
    return edges[-1]


def _anchor(place: float) -> str:
    """Labels at the ends of an axis stay within the chart."""
    return "start" if place < 0.03 else "end" if place > 0.9 else "middle"
