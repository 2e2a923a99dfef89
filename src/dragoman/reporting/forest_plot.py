"""Draw forest plots as SVG files: effects with intervals, and the region in which each of them meets its rule.

A file contains its own style, because it is shown as an image of a Markdown page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10
from typing import Any, Literal

from dragoman.reporting.html import render

__all__ = ["ForestPanel", "ForestRow", "Interval", "forest_plot_svg"]

Interval = tuple[float, float]

_WIDTH = 920
_LEFT, _RIGHT = 356, 722  # ends of the axis; labels are before it, verdicts behind it
_MARGIN = 14
_LINE = 16  # height of a line of text
_ROW_SPACE = 14
_TITLE, _AXIS, _LEGEND = 40, 48, 30  # heights
_LABEL_COLUMNS = 55  # characters per line of a label; wide ones count twice
_TITLE_COLUMNS = 120
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_MAX_TICKS = 6
_ARROW = 7  # pixels, at an interval that ends outside the axis


@dataclass(frozen=True)
class ForestRow:
    """An effect: its label, value, intervals, verdict, and the region in which it holds.

    `inner` is drawn thick and `outer` thin; both are None if unknown. A bound of the region may be infinite.
    """

    label: str
    value: float
    inner: Interval | None
    outer: Interval | None
    region: Interval
    kind: Literal["holds", "fails", "open"]
    verdict: str


@dataclass(frozen=True)
class ForestPanel:
    """Rows with a common axis. The axis contains all of them, but nothing outside `limits`."""

    unit: str
    rows: Sequence[ForestRow]
    limits: Interval = (-inf, inf)


@dataclass(frozen=True)
class _Scale:
    """Maps values from `low` to `high` to pixels."""

    low: float
    high: float

    def place(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def forest_plot_svg(title: str, panels: Sequence[ForestPanel], *, legend: Sequence[str]) -> str:
    """Draw one axis per panel. `legend` names the thick line, the thin line, the threshold and the region."""
    headings = _wrapped(title, _TITLE_COLUMNS)
    top = _TITLE + _LINE * (len(headings) - 1)
    drawn = []
    for panel in panels:
        drawn.append(_panel(panel, top))
        top = drawn[-1]["bottom"] + _AXIS
    return str(
        render(
            "forest_plot.svg",
            title=title,
            headings=headings,
            description=_description(panels),
            size=(_WIDTH, top + _LEGEND),
            axis=(_LEFT, _RIGHT),
            margin=_MARGIN,
            line=_LINE,
            arrow=_ARROW,
            panels=drawn,
            legend=legend,
            legend_top=top + _LEGEND // 2,
        )
    )


def _panel(panel: ForestPanel, top: int) -> dict[str, Any]:
    scale = _scale(panel)
    rows = []
    bottom = top
    for row in panel.rows:
        lines = _wrapped(row.label, _LABEL_COLUMNS)
        height = _LINE * len(lines) + _ROW_SPACE
        rows.append(_row(row, scale, bottom, height) | {"lines": lines})
        bottom += height
    ticks = [(scale.place(value), _number(value)) for value in _ticks(scale)]
    zero = scale.place(0.0) if scale.contains(0.0) else None
    return {"rows": rows, "top": top, "bottom": bottom, "ticks": ticks, "zero": zero, "unit": panel.unit}


def _row(row: ForestRow, scale: _Scale, top: int, height: int) -> dict[str, Any]:
    return {
        "top": top,
        "height": height,
        "middle": top + height / 2,
        "kind": row.kind,
        "verdict": row.verdict,
        "value": scale.place(row.value) if scale.contains(row.value) else None,
        "inner": None if row.inner is None else tuple(map(scale.place, row.inner)),
        "outer": None if row.outer is None else tuple(map(scale.place, row.outer)),
        "region": tuple(map(scale.place, row.region)),
        "thresholds": [scale.place(bound) for bound in row.region if isfinite(bound) and scale.contains(bound)],
        "beyond": sorted({end < scale.low for end in (row.value, *(row.outer or ())) if not scale.contains(end)}),
    }


def _scale(panel: ForestPanel) -> _Scale:
    """Return an axis with zero, all values, intervals and thresholds, within the limits of the panel."""
    values = [0.0]
    for row in panel.rows:
        values += [row.value, *(row.inner or ()), *(row.outer or ()), *filter(isfinite, row.region)]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5
    return _Scale(max(low - room, panel.limits[0]), min(high + room, panel.limits[1]))


def _ticks(scale: _Scale) -> list[float]:
    span = scale.high - scale.low
    size = 10.0 ** floor(log10(span / _MAX_TICKS))
    step = next(size * nice for nice in (*_NICE, 20.0) if span / (size * nice) <= _MAX_TICKS)
    return [step * number for number in range(ceil(scale.low / step), floor(scale.high / step) + 1)]


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _wrapped(text: str, columns: int) -> list[str]:
    """Break a text at spaces, or after any wide character."""
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


def _description(panels: Sequence[ForestPanel]) -> str:
    parts = []
    for panel in panels:
        for row in panel.rows:
            low_high = "" if row.outer is None else f" ({_number(row.outer[0])[:6]} … {_number(row.outer[1])[:6]})"
            parts.append(f"{row.label}: {row.value:.3g} {panel.unit}{low_high}, {row.verdict}")
    return "; ".join(parts)
