"""Draw forest plots as SVG files: effects with intervals, and the region in which each of them meets its rule.

A file contains its own style, because it is shown as an image of a Markdown page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal

from claims.report.figure_layout import (
    AXIS,
    LEFT,
    LEGEND,
    LINE,
    MARGIN,
    RIGHT,
    WIDTH,
    HorizontalScale,
    axis_number,
    heading,
    label,
    render,
)

Interval = tuple[float, float]

_ROW_SPACE = 14
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


def forest_plot_svg(title: str, panels: Sequence[ForestPanel], *, legend: Sequence[str]) -> str:
    """Draw one axis per panel. `legend` names the thick line, the thin line, the threshold and the region."""
    headings, top = heading(title)
    drawn = []
    for panel in panels:
        drawn.append(_panel(panel, top))
        top = drawn[-1]["bottom"] + AXIS
    return render(
        "forest_plot.svg",
        title=title,
        headings=headings,
        description=_description(panels),
        size=(WIDTH, top + LEGEND),
        axis=(LEFT, RIGHT),
        margin=MARGIN,
        line=LINE,
        arrow=_ARROW,
        panels=drawn,
        legend=legend,
        legend_top=top + LEGEND // 2,
    )


def _panel(panel: ForestPanel, top: int) -> dict[str, Any]:
    scale = _scale(panel)
    rows = []
    bottom = top
    for row in panel.rows:
        lines, height = label(row.label, _ROW_SPACE)
        rows.append(_row(row, scale, bottom, height) | {"lines": lines})
        bottom += height
    zero = scale.place(0.0) if scale.contains(0.0) else None
    return {"rows": rows, "top": top, "bottom": bottom, "ticks": scale.ticks(), "zero": zero, "unit": panel.unit}


def _row(row: ForestRow, scale: HorizontalScale, top: int, height: int) -> dict[str, Any]:
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


def _scale(panel: ForestPanel) -> HorizontalScale:
    """Return an axis with zero, all values, intervals and thresholds, within the limits of the panel."""
    values = [0.0]
    for row in panel.rows:
        values += [row.value, *(row.inner or ()), *(row.outer or ()), *filter(isfinite, row.region)]
    return HorizontalScale.around(values, panel.limits)


def _description(panels: Sequence[ForestPanel]) -> str:
    parts = []
    for panel in panels:
        for row in panel.rows:
            ends = [axis_number(end)[:6] for end in row.outer or ()]
            low_high = f" ({' … '.join(ends)})" if ends else ""
            parts.append(f"{row.label}: {row.value:.3g} {panel.unit}{low_high}, {row.verdict}")
    return "; ".join(parts)
