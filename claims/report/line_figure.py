"""Write a line chart as an SVG file with a title, a legend and its own style."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from claims.report.figure_layout import LINE, MARGIN, WIDTH, heading, render, wrapped
from dragoman.reporting.line_chart import Scale, Series, line_chart_svg

_CHART = (640, 357)  # the proportions of a line chart
_LEGEND_COLUMNS = 34
_LEGEND_SPACE = 6
_COLOURS = ("#2f6ead", "#c0611a", "#2f8560", "#a8428c", "#7a6a12", "#6a55c2", "#b23b3b", "#47707c")


def line_figure_svg(
    title: str, lines: Sequence[Series], *, across: Scale, up: Scale, legend: Sequence[str], note: str = ""
) -> str:
    """Draw a chart with the unit of the vertical axis above it, and the names of the lines at its right.

    Lines with the number k are named by entry k of the legend. Return an empty string if no line has a point.
    """
    points = "; ".join(_points(line, across, up) for line in lines if len(line.points) > 1)
    chart = line_chart_svg(title, lines, across=across, up=up, name="chart", description=points)
    if not chart:
        return ""
    headings, top = heading(title)
    entries, place = [], top + 34
    for number, name in enumerate(legend):
        words = wrapped(name, _LEGEND_COLUMNS)
        entries.append({"style": f"c{number}", "lines": words, "top": place})
        place += LINE * len(words) + _LEGEND_SPACE
    return render(
        "line_figure.svg",
        title=title,
        headings=headings,
        description=points,
        size=(WIDTH, top + LINE + _CHART[1] + MARGIN),
        margin=MARGIN,
        line=LINE,
        top=top,
        unit=up.label,
        chart=Markup(chart),  # noqa: S704 -- rendered from a template that escapes
        chart_size=_CHART,
        colours=_COLOURS,
        legend=entries,
        note=wrapped(note, _LEGEND_COLUMNS) if note else [],
        note_top=place + _LEGEND_SPACE,
    )


def _points(line: Series, across: Scale, up: Scale) -> str:
    names = dict(across.ticks)
    return f"{line.name}: {', '.join(f'{up.read(y)} ({names.get(x) or across.read(x)})' for x, y in line.points)}"
