"""Format scores for tables, with the legend and the metric signatures below a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.evaluation.metrics.metadata import SIGNIFICANCE_LEVEL, format_metric_value, is_lower_better
from dragoman.evaluation.results import Evaluation, Score, SignificanceTest, SystemResult
from dragoman.reporting.metric_title import metric_title
from dragoman.reporting.notebook_tables import table_html
from dragoman.reporting.number_format import format_count

__all__ = ["SIGNIFICANCE_MARK", "column_title", "evaluation_html", "format_score", "legend", "signatures"]

SIGNIFICANCE_MARK = "*"
"""Follows scores that differ significantly from the baseline's."""

_TEST_NAMES = {
    "bootstrap": "sacreBLEU's paired bootstrap resampling",
    "randomization": "sacreBLEU's paired approximate randomization",
}


def format_score(score: Score, test: SignificanceTest | None = None) -> str:
    """Format a score with its interval and, if the difference is significant, a mark: 30.00 ± 1.25 *."""
    interval = "" if score.interval is None else f" ± {format_metric_value(score.metric, score.interval.half_width)}"
    mark = f" {SIGNIFICANCE_MARK}" if test is not None and test.is_significant else ""
    return f"{format_metric_value(score.metric, score.value)}{interval}{mark}"


def column_title(metric: str) -> str:
    """Return the title of a metric, with an arrow if lower is better."""
    return f"{metric_title(metric)} ↓" if is_lower_better(metric) else metric_title(metric)


def evaluation_html(evaluation: Evaluation) -> str:
    """Return a table of the scores of all systems for a notebook, with its legend."""
    metrics = evaluation.metrics
    rows = []
    for system in evaluation.systems:
        found = [(system.score(metric), system.test(metric)) for metric in metrics]
        rows.append((system.name, ["–" if score is None else format_score(score, test) for score, test in found]))
    count = format_count(evaluation.test_set.sentences, "sentence")
    title = f"{evaluation.test_set.name}, {count}" if evaluation.test_set.name else count
    notes = [*(f"Warning: {note}" for note in evaluation.notes), *legend(evaluation)]
    return table_html(title, list(map(column_title, metrics)), rows, notes=notes)


def legend(evaluation: Evaluation, show_name: Callable[[str], str] = str) -> Iterator[str]:
    """Explain the symbols of a table of scores; `show_name` makes the baseline's name safe to display."""
    systems = evaluation.systems
    has_one_member = any(len(system.members) == 1 for system in systems)
    if evaluation.resamples and evaluation.test_set.sentences > 1 and has_one_member:
        yield f"± 95 % interval over sentences: bootstrap, {evaluation.resamples:,} resamples."
    if any(len(system.members) > 1 for system in systems):
        yield "± for a system with several members: 95 % interval of their mean, Student's t."
    if baseline := evaluation.baseline_system:
        tests = "; ".join(_test_names(evaluation, baseline))
        name, level = show_name(baseline.name), f"p < {SIGNIFICANCE_LEVEL}"
        is_marked = any(
            test.is_significant for system in systems for score in system.scores if (test := system.test(score.metric))
        )
        yield (
            f"{SIGNIFICANCE_MARK} {level} against {name}: {tests}."
            if is_marked
            else f"No difference from {name} has {level}: {tests}."
        )


def _test_names(evaluation: Evaluation, baseline: SystemResult) -> Iterator[str]:
    others = [system for system in evaluation.systems if system.name != baseline.name]
    over_members = [system for system in others if len(system.members) > 1 and len(baseline.members) > 1]
    if over_members:
        yield "Welch's t-test over members"
    paired = [system for system in others if system not in over_members]
    for test in dict.fromkeys(test.test for each in paired for member in each.members for test in member.tests):
        several = ", for every member" if any(len(system.members) > 1 for system in (*paired, baseline)) else ""
        yield f"{_TEST_NAMES[test]}{several}"


def signatures(evaluation: Evaluation) -> dict[str, str]:
    """Return the signature of each metric; it is the same for all systems."""
    found: dict[str, str] = {}
    for member in evaluation.members:
        for score in member.scores:
            found.setdefault(score.metric, score.signature)
    return found
