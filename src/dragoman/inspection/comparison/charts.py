"""Draw the charts of the comparison page: learning curves, and scores by source length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.evaluation.results import Evaluation, LengthBin
from dragoman.inspection.comparison.report_types import (
    TRAINING_LOSS,
    VALIDATION_LOSS,
    ComparisonReport,
    Curve,
    ModelDetails,
)
from dragoman.reporting.line_chart import Scale, Series, line_chart_svg
from dragoman.reporting.metric_title import metric_title
from dragoman.reporting.number_format import format_compact, format_duration

__all__ = ["AXES", "Chart", "LengthTable", "curve_charts", "length_charts", "length_table"]

AXES = {"updates": "updates", "tokens": "target tokens", "time": "time"}
"""Horizontal axes of learning curves, with their labels."""

_LOSSES = (TRAINING_LOSS, VALIDATION_LOSS)

Chart = tuple[str, str]
"""Title and SVG."""


@dataclass(frozen=True)
class LengthTable:
    """Length bins, and one row per system and metric with formatted scores."""

    bins: list[LengthBin]
    rows: list[tuple[str, str, list[str]]]


def _short(number: float) -> str:
    """Format a large number without trailing zeros: 2 k, 2.37 k."""
    digits, space, unit = format_compact(number).partition(" ")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{space}{unit}"


_SCALES = {
    "updates": Scale("updates", _short, from_zero=True, is_whole=True),
    "tokens": Scale("target tokens", _short, from_zero=True, is_whole=True),
    "time": Scale("of training", format_duration, from_zero=True, title="time of training"),
}


def curve_charts(report: ComparisonReport) -> dict[str, list[Chart]]:
    """Draw every quantity over updates, tokens and time; by axis, empty without curves."""
    runs = [
        (number, member) for number, members in enumerate(report.models.values()) for member in members if member.curves
    ]
    quantities = dict.fromkeys(curve.quantity for _, member in runs for curve in member.curves)
    if not quantities:
        return {}
    ordered = [*(loss for loss in _LOSSES if loss in quantities), *(each for each in quantities if each not in _LOSSES)]
    return {axis: [chart for each in ordered if (chart := _curve_chart(axis, each, runs))[1]] for axis in AXES}


def _curve_chart(axis: str, quantity: str, runs: Sequence[tuple[int, ModelDetails]]) -> Chart:
    lines = [
        Series(member.name, number, _points(curve, axis))
        for number, member in runs
        for curve in member.curves
        if curve.quantity == quantity
    ]
    is_loss = quantity in _LOSSES
    title = quantity.capitalize() if is_loss else f"{metric_title(quantity)} in validation"
    up = Scale(title, _format_loss if is_loss else _format_score, is_log=is_loss)
    return title, line_chart_svg(title, lines, across=_SCALES[axis], up=up, name=f"{axis}-{_slug(quantity)}")


def _points(curve: Curve, axis: str) -> list[tuple[float, float]]:
    places = {"updates": curve.updates, "tokens": curve.tokens, "time": curve.seconds}[axis]
    return list(zip(places, curve.values, strict=True))


def _slug(text: str) -> str:
    """Return a name for an element: ASCII letters and digits only."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text)


def _format_loss(value: float) -> str:
    """Two decimals, or three significant digits below 1."""
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}".rstrip("0").rstrip(".")


def _format_score(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _bins(evaluation: Evaluation) -> list[LengthBin]:
    bins = {each.low: each for system in evaluation.systems for each in system.by_length if each.sentences}
    return [bins[low] for low in sorted(bins)]


def length_charts(evaluation: Evaluation) -> list[Chart]:
    """Draw one chart per metric."""
    bins = _bins(evaluation)
    metrics = dict.fromkeys(score.metric for each in bins for score in each.scores)
    return [chart for metric in metrics if (chart := _length_chart(evaluation, metric, bins))[1]]


def _length_chart(evaluation: Evaluation, metric: str, bins: Sequence[LengthBin]) -> Chart:
    places = {each.low: float(place) for place, each in enumerate(bins)}
    lines = []
    for number, system in enumerate(evaluation.systems):
        known = [
            (places[each.low], score)
            for each in system.by_length
            if each.low in places
            for score in each.scores
            if score.metric == metric
        ]
        points = [(place, score.value) for place, score in known]
        widths = [None if score.interval is None else score.interval.half_width for _, score in known]
        lines.append(Series(system.name, number, points, widths))
    across = Scale("words in the source", _format_score, [(places[each.low], each.label) for each in bins])
    up = Scale(metric_title(metric), _format_score)
    title = f"{metric_title(metric)} by length"
    return title, line_chart_svg(title, lines, across=across, up=up, name=f"length-{_slug(metric)}")


def length_table(evaluation: Evaluation) -> LengthTable:
    """Return the scores of the charts as text."""
    bins = _bins(evaluation)
    rows = []
    for system in evaluation.systems:
        scores = {(each.low, score.metric): score for each in system.by_length for score in each.scores}
        for metric in dict.fromkeys(score.metric for each in bins for score in each.scores):
            cells = [scores.get((each.low, metric)) for each in bins]
            if any(cells):
                texts = [
                    "–"
                    if score is None
                    else f"{score.value:.1f}"
                    + ("" if score.interval is None else f" ± {score.interval.half_width:.1f}")
                    for score in cells
                ]
                rows.append((system.name, metric_title(metric), texts))
    return LengthTable(bins, rows)
