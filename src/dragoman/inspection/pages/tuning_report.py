"""Render a search for hyper-parameters as one self-contained HTML page: settings, learning curves and trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from dragoman.reporting.html import render, render_page, visible_html
from dragoman.reporting.line_chart import Scale, Series, legend_html, line_chart_svg
from dragoman.reporting.number_format import format_compact, format_count, metric_title

_AXIS_WIDTH, _HEIGHT = 150, 300
_SIDE, _TOP, _BOTTOM = 70, 34, 16
_MAX_LABEL = 22

Value = bool | int | float | str | None
_MAX_CURVES = 24  # eight colours in three styles


@dataclass(frozen=True)
class Coordinate:
    """An axis: its label, and the value of each item. Values that are not all numbers are categories.

    `is_reversed` puts the smallest value on top.
    """

    label: str
    values: Sequence[Value]
    is_log: bool = False
    is_reversed: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether all known values are numbers."""
        return all(isinstance(each, int | float) and not isinstance(each, bool) for each in self._known)

    @property
    def _known(self) -> list[Value]:
        return [each for each in self.values if each is not None]

    def shares(self) -> list[float | None]:
        """Return the height of each item on the axis, from 0 to 1; None if its value is unknown."""
        if not self.is_numeric:
            names = self.categories()
            return [None if each is None else _share(names.index(str(each)), 0, len(names) - 1) for each in self.values]
        numbers = [None if each is None else self._on(float(each)) for each in self.values]
        known = [each for each in numbers if each is not None]
        if not known:
            return [None for _ in numbers]
        low, high = min(known), max(known)
        found = [None if each is None else _share(each, low, high) for each in numbers]
        return [None if each is None else 1 - each for each in found] if self.is_reversed else found

    def categories(self) -> list[str]:
        """Return the different values as text, sorted."""
        return sorted({str(each) for each in self._known})

    def ticks(self) -> list[tuple[float, str]]:
        """Return heights and labels: of all categories, or of the smallest and the largest number."""
        if not self.is_numeric:
            names = self.categories()
            return [(_share(place, 0, len(names) - 1), name) for place, name in enumerate(names)]
        known = [float(each) for each in self._known if each is not None]
        if not known:
            return []
        low, high = min(known), max(known)
        if low == high:
            return [(0.5, f"{low:.4g}")]
        bottom, top = (1.0, 0.0) if self.is_reversed else (0.0, 1.0)
        return [(bottom, f"{low:.4g}"), (top, f"{high:.4g}")]

    def _on(self, value: float) -> float:
        return log(value) if self.is_log and value > 0 else value


def parallel_coordinates_svg(
    title: str, axes: Sequence[Coordinate], names: Sequence[str], *, best: int | None, name: str
) -> str:
    """Draw items as lines through all axes; `best` is drawn last, in another style. `name` is unique on the page."""
    width = 2 * _SIDE + _AXIS_WIDTH * (len(axes) - 1)
    bottom = _HEIGHT - _BOTTOM
    places = [_SIDE + _AXIS_WIDTH * number for number in range(len(axes))]

    def height(share: float) -> float:
        return bottom - share * (bottom - _TOP)

    shares = [axis.shares() for axis in axes]
    lines = []
    for item, called in enumerate(names):
        points = [(x, column[item]) for x, column in zip(places, shares, strict=True)]
        drawn = " ".join(f"{x},{height(share):.1f}" for x, share in points if share is not None)
        values = ", ".join(f"{axis.label} {_shown_value(axis.values[item])}" for axis in axes)
        lines.append(("chosen" if item == best else "other", drawn, f"{called}: {values}"))
    lines.sort(key=lambda line: line[0] == "chosen")
    return render(
        "parallel_coordinates.svg",
        title=title,
        description=f"One line per trial through {', '.join(axis.label for axis in axes)}.",
        name=name,
        size=(width, _HEIGHT),
        frame=(_TOP, bottom),
        axes=[
            (x, _cut(axis.label), [(height(share), _cut(text)) for share, text in axis.ticks()])
            for x, axis in zip(places, axes, strict=True)
        ],
        lines=lines,
    )


def _share(value: float, low: float, high: float) -> float:
    return 0.5 if high <= low else (value - low) / (high - low)


def _shown_value(value: Value) -> str:
    return "unknown" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"


@dataclass(frozen=True)
class TrialRow:
    """A trial: the values of the searched settings, its score and learning curve."""

    name: str
    values: Mapping[str, Any]
    score: float | None
    updates: int
    rungs: int
    curve: Sequence[tuple[int, float]]
    error: str = ""


@dataclass(frozen=True)
class TuningReport:
    """A search: the trials, the best first, and the rungs as numbers of trials and updates."""

    project: str
    metric: str
    trials: Sequence[TrialRow]
    rungs: Sequence[tuple[int, int]]
    log_settings: Sequence[str]
    is_complete: bool


def render_tuning_report(report: TuningReport) -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    title = "validation loss" if report.metric == "loss" else f"{metric_title(report.metric)} in validation"
    names = list(report.trials[0].values)
    trials = [each for each in report.trials if each.score is not None]
    return render_page(
        "tuning.html",
        title=f"Tuning {report.project}",
        styles=("palette.css", "page.css", "comparison.css", "tuning.css"),
        level="ok" if report.is_complete else "warning",
        verdict=_verdict(report, title),
        tiles=_tiles(report, title),
        parallel=_parallel(report, trials, names, title),
        legend=legend_html([each.name for each in trials[:_MAX_CURVES]]),
        chart=_curves(report, trials[:_MAX_CURVES], title),
        caption=f"The best first. Trials are compared by {title} at the end of each rung.",
        head=["trial", *names, "updates", "rungs", title],
        classes=["", *("value" for _ in names), "number", "number", "number"],
        rows=[_row(each, names, report.metric) for each in report.trials],
        errors=[(each.name, each.error) for each in report.trials if each.error],
    )


def _verdict(report: TuningReport, title: str) -> str:
    best = report.trials[0]
    if not report.is_complete:
        return "The search is not complete"
    shown = ", ".join(f"{name} {_shown(value)}" for name, value in best.values.items())
    return f"{best.name} has the best {title}, {_score(best.score, report.metric)}: {shown}"


def _tiles(report: TuningReport, title: str) -> list[tuple[str, str, str]]:
    best, trained = report.trials[0], sum(each.updates for each in report.trials)
    own = next((each for each in report.trials if each.name.endswith("-000")), None)
    every = len(report.trials) * report.rungs[-1][1]
    tiles = [
        ("trials", f"{len(report.trials)}", ", ".join(f"{count} × {updates:,}" for count, updates in report.rungs)),
        (f"best {title}", _score(best.score, report.metric), best.name),
        ("updates in all", format_compact(trained), f"{format_compact(every)} without halving"),
    ]
    if own is not None and own is not best:
        remark = f"after {format_count(own.updates, 'update')}"
        tiles.insert(2, ("of the project's settings", _score(own.score, report.metric), remark))
    return tiles


def _parallel(report: TuningReport, trials: Sequence[TrialRow], names: Sequence[str], title: str) -> str:
    axes = [
        Coordinate(label, [each.values[name] for each in trials], name in report.log_settings)
        for name, label in zip(names, _labels(names), strict=True)
    ]
    axes.append(Coordinate(title, [each.score for each in trials], is_reversed=report.metric == "loss"))
    best = 0 if report.is_complete else None
    return parallel_coordinates_svg(
        "Settings and scores of the trials", axes, [each.name for each in trials], best=best, name="parallel"
    )


def _labels(names: Sequence[str]) -> list[str]:
    """Return the last parts of dotted names, or complete names if these are not unique."""
    last = [name.rpartition(".")[2] for name in names]
    return [part if last.count(part) == 1 else name for part, name in zip(last, names, strict=True)]


def _curves(report: TuningReport, trials: Sequence[TrialRow], title: str) -> str:
    lines = [Series(each.name, number, each.curve) for number, each in enumerate(trials)]
    up = Scale(title, lambda value: f"{value:.3g}", is_log=report.metric == "loss")
    return line_chart_svg(title, lines, across=Scale("updates", format_compact, from_zero=True), up=up, name="curves-0")


def _row(trial: TrialRow, names: Sequence[str], metric: str) -> list[Any]:
    values = [visible_html(_shown(trial.values[name]), 60) for name in names]
    score = "failed" if trial.error else _score(trial.score, metric)
    return [trial.name, *values, f"{trial.updates:,}", f"{trial.rungs}", score]


def _score(score: float | None, metric: str) -> str:
    return "–" if score is None else f"{score:.3f}" if metric == "loss" else f"{score:.1f}"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
