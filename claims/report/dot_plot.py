"""Draw dot plots as SVG files: every value of a row as a point, and their mean as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from claims.report.figure_layout import (
    AXIS,
    LEFT,
    LEGEND,
    LINE,
    MARGIN,
    RIGHT,
    WIDTH,
    HorizontalScale,
    heading,
    label,
    render,
)

_ROW_SPACE = 10


@dataclass(frozen=True)
class DotRow:
    """Values with a label, their mean, and a note behind the axis."""

    label: str
    values: Sequence[float]
    mean: float
    note: str = ""


@dataclass(frozen=True)
class DotPanel:
    """Rows with a common axis."""

    unit: str
    rows: Sequence[DotRow]


def dot_plot_svg(title: str, panels: Sequence[DotPanel], *, legend: Sequence[str]) -> str:
    """Draw one axis per panel; it contains all values, and zero only if they are around it.

    `legend` names a point and the line of the mean.
    """
    headings, top = heading(title)
    drawn = []
    for panel in panels:
        drawn.append(_panel(panel, top))
        top = drawn[-1]["bottom"] + AXIS
    return render(
        "dot_plot.svg",
        title=title,
        headings=headings,
        description="; ".join(
            f"{row.label}: {', '.join(f'{value:.4g}' for value in row.values)} {panel.unit}"
            for panel in panels
            for row in panel.rows
        ),
        size=(WIDTH, top + LEGEND),
        axis=(LEFT, RIGHT),
        margin=MARGIN,
        line=LINE,
        panels=drawn,
        legend=legend,
        legend_top=top + LEGEND // 2,
    )


def _panel(panel: DotPanel, top: int) -> dict[str, Any]:
    scale = HorizontalScale.around(value for row in panel.rows for value in row.values)
    rows = []
    bottom = top
    for row in panel.rows:
        lines, height = label(row.label, _ROW_SPACE)
        rows.append(
            {
                "lines": lines,
                "middle": bottom + height / 2,
                "points": [scale.place(value) for value in row.values],
                "mean": scale.place(row.mean),
                "note": row.note,
            }
        )
        bottom += height
    return {"rows": rows, "top": top, "bottom": bottom, "ticks": scale.ticks(), "unit": panel.unit}
