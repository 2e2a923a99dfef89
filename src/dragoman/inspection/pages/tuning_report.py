"""Render a search for hyper-parameters as one self-contained HTML page: learning curves and trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.reporting.html import render_page, visible_html
from dragoman.reporting.line_chart import Scale, Series, legend_html, line_chart_svg
from dragoman.reporting.number_format import format_compact, format_count, metric_title

_MAX_CURVES = 24  # eight colours in three styles


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
