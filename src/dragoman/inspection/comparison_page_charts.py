"""The charts of a comparison: how each run learnt, and how scores change with the length of the source."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.data.check.figures import brief, counted, duration
from dragoman.data.check.markup import shown, table
from dragoman.inspection.comparison import (
    TRAINING_LOSS,
    VALIDATION_LOSS,
    Compared,
    Comparison,
    Curve,
    LengthPoint,
)
from dragoman.inspection.comparison_findings import metric_name
from dragoman.inspection.line_chart import Line, Scale, legend, line_chart

__all__ = ["curve_charts", "length_charts"]

_LOSSES = (TRAINING_LOSS, VALIDATION_LOSS)


def _short(number: float) -> str:
    """A large number without decimals that say nothing: 2 k, 2.37 k."""
    digits, space, unit = brief(number).partition(" ")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{space}{unit}"


_AXES = {
    "updates": Scale("updates", _short, from_zero=True),
    "tokens": Scale("target pieces", _short, from_zero=True),
    "time": Scale("of training", duration, from_zero=True),
}


def curve_charts(comparison: Comparison) -> str:
    """Every quantity over updates, tokens and time; which of them is shown needs no script."""
    runs = [
        (number, member)
        for number, system in enumerate(comparison.systems)
        for member in system.members
        if member.curves
    ]
    quantities = dict.fromkeys(curve.quantity for _, member in runs for curve in member.curves)
    if not quantities:
        return ""
    ordered = [*(loss for loss in _LOSSES if loss in quantities), *(each for each in quantities if each not in _LOSSES)]
    panels = "\n".join(
        f'<div class="charts axis-panel over-{axis}">{"".join(_curves(axis, each, runs) for each in ordered)}</div>'
        for axis in _AXES
    )
    note = (
        "Losses are per target piece, on a logarithmic scale; where vocabularies differ, they cannot be compared. "
        "Scores are those of validation while training. Time is that of updates and validations only."
    )
    return (
        f'<div class="curves">{legend([system.name for system in comparison.systems])}\n{_switch()}\n{panels}\n'
        f'<p class="soft">{note}</p></div>'
    )


def _switch() -> str:
    choices = {"updates": "updates", "tokens": "target pieces", "time": "time"}
    chosen = ' checked="checked"'
    entries = "".join(
        f'<input type="radio" name="over" id="over-{axis}"{chosen if axis == "updates" else ""}/>'
        f'<label for="over-{axis}">{words}</label>'
        for axis, words in choices.items()
    )
    return f'<fieldset class="switch"><legend>over</legend>{entries}</fieldset>'


def _curves(axis: str, quantity: str, runs: Sequence[tuple[int, Compared]]) -> str:
    lines = [
        Line(member.name, number, _points(curve, axis))
        for number, member in runs
        for curve in member.curves
        if curve.quantity == quantity
    ]
    is_loss = quantity in _LOSSES
    title = quantity.capitalize() if is_loss else f"{metric_name(quantity)} in validation"
    up = Scale(title, _loss if is_loss else _score, is_log=is_loss)
    drawn = line_chart(title, lines, across=_AXES[axis], up=up, name=f"{axis}-{_slug(quantity)}")
    return f'<figure class="card"><figcaption>{shown(title)}</figcaption>{drawn}</figure>' if drawn else ""


def _points(curve: Curve, axis: str) -> list[tuple[float, float]]:
    places = {"updates": curve.updates, "tokens": curve.tokens, "time": curve.seconds}[axis]
    return list(zip(places, curve.values, strict=True))


def _slug(text: str) -> str:
    """A name for an element: letters and digits of ASCII only."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text)


def _loss(value: float) -> str:
    """Two decimals; a small one has three digits, wherever they begin."""
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}".rstrip("0").rstrip(".")


def _score(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def length_charts(comparison: Comparison) -> str:
    """A chart a metric, and the same as a table."""
    points = {point.low: point for system in comparison.systems for point in system.lengths if point.sentences}
    bins = [points[low] for low in sorted(points)]
    metrics = dict.fromkeys(metric for point in bins for metric in point.scores)
    if not metrics:
        return ""
    charts = "\n".join(_by_length(comparison, metric, bins) for metric in metrics)
    counts = ", ".join(f"{point.sentences:,} of {point.label}" for point in bins)
    return (
        f'{legend([system.name for system in comparison.systems])}\n<div class="charts">{charts}</div>\n'
        f'<p class="soft">Sentences by words of the source: {counts}.</p>\n'
        f'<div class="card"><details><summary>The same in figures</summary>'
        f"{_length_table(comparison, list(metrics), bins)}</details></div>"
    )


def _by_length(comparison: Comparison, metric: str, bins: Sequence[LengthPoint]) -> str:
    places = {point.low: float(place) for place, point in enumerate(bins)}
    lines = []
    for number, system in enumerate(comparison.systems):
        known = [(places[p.low], p.scores[metric]) for p in system.lengths if p.low in places and metric in p.scores]
        points = [(place, score.value) for place, score in known]
        lines.append(Line(system.name, number, points, [score.half_width for _, score in known]))
    across = Scale("words in the source", _score, [(places[point.low], point.label) for point in bins])
    title = f"{metric_name(metric)} by length"
    drawn = line_chart(
        title, lines, across=across, up=Scale(metric_name(metric), _score), name=f"length-{_slug(metric)}"
    )
    remark = "<span>bands: 95 % intervals</span>"
    return f'<figure class="card"><figcaption>{shown(title)} {remark}</figcaption>{drawn}</figure>' if drawn else ""


def _length_table(comparison: Comparison, metrics: Sequence[str], bins: Sequence[LengthPoint]) -> str:
    rows = []
    for system in comparison.systems:
        scores = {point.low: point.scores for point in system.lengths}
        for metric in metrics:
            cells = [scores.get(point.low, {}).get(metric) for point in bins]
            if any(cells):
                figures = ["–" if cell is None else _with_half(cell.value, cell.half_width) for cell in cells]
                rows.append([f"<bdi>{shown(system.name)}</bdi>, {shown(metric_name(metric), 40)}", *figures])
    head = ["words in the source", *(f"{point.label}<br>{counted(point.sentences, 'sentence')}" for point in bins)]
    return table("Scores ± half the 95 % interval.", head, rows, classes=["", *["number"] * len(bins)])


def _with_half(value: float, half: float | None) -> str:
    return f"{value:.1f}{'' if half is None else f' ± {half:.1f}'}"
