"""Render a comparison report as one self-contained HTML page without scripts."""

from __future__ import annotations

from typing import Any

from dragoman.evaluation.aggregate_members import describe_test
from dragoman.evaluation.metrics.metadata import (
    SENTENCE_METRIC,
    SIGNIFICANCE_LEVEL,
    format_difference,
    format_metric_value,
    format_p_value,
    is_improvement,
    is_lower_better,
)
from dragoman.evaluation.results import Evaluation
from dragoman.inspection.comparison.charts import AXES, curve_charts, length_charts, length_table
from dragoman.inspection.comparison.example_display import attention_svg, mark_differences
from dragoman.inspection.comparison.model_tables import (
    cost_tables,
    engines_differ,
    notable_search_settings,
    score_signatures,
)
from dragoman.inspection.comparison.report_types import ComparisonReport
from dragoman.inspection.comparison.setting_differences import compare_settings
from dragoman.inspection.comparison.verdict import best_systems, conclude
from dragoman.reporting.html import render_page
from dragoman.reporting.line_chart import legend_html, swatch_svg
from dragoman.reporting.metric_title import metric_title

__all__ = ["render_comparison_page"]

_FUNCTIONS: dict[str, Any] = {
    "describe_test": describe_test,
    "difference": format_difference,
    "is_improvement": is_improvement,
    "is_lower_better": is_lower_better,
    "metric_title": metric_title,
    "metric_value": format_metric_value,
    "p_value": format_p_value,
    "swatch": swatch_svg,
}


def render_comparison_page(report: ComparisonReport, *, title: str = "") -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    evaluation = report.evaluation
    translation_costs, training_costs = cost_tables(report)
    rows = compare_settings(report)
    return render_page(
        "comparison.html",
        title=title or _title(report),
        styles=("palette.css", "page.css", "samples.css", "comparison.css"),
        report=report,
        evaluation=evaluation,
        has_scores=evaluation is not None and bool(evaluation.metrics),
        verdict=conclude(report),
        best={} if evaluation is None else _best(evaluation),
        level=SIGNIFICANCE_LEVEL,
        legend=legend_html(report.systems),
        axes=AXES,
        curves=curve_charts(report),
        length_charts=[] if evaluation is None else length_charts(evaluation),
        lengths=None if evaluation is None else length_table(evaluation),
        configured=[name for name, members in report.models.items() if any(member.settings for member in members)],
        different=[row for row in rows if row.differs],
        equal=[row for row in rows if not row.differs],
        attention=[
            (sentence, [(each, attention_svg(each, sentence.source)) for each in sentence.maps])
            for sentence in report.attention
        ],
        sentences=[(sentence, mark_differences(sentence, report.baseline)) for sentence in report.sentences],
        sentence_metric=metric_title(SENTENCE_METRIC),
        translation_costs=translation_costs,
        training_costs=training_costs,
        has_different_engines=engines_differ(evaluation),
        search={} if evaluation is None else notable_search_settings(evaluation.search),
        signatures=score_signatures(evaluation),
        **_FUNCTIONS,
    )


def _best(evaluation: Evaluation) -> dict[str, set[str]]:
    return {metric: best_systems(evaluation.systems, metric) for metric in evaluation.metrics}


def _title(report: ComparisonReport) -> str:
    names = report.systems
    if len(names) == 1:
        return f"{names[0]}: report"
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}: compared"
