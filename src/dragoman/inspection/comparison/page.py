"""Render a comparison report as one self-contained HTML page without scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from dragoman.evaluation.aggregate_members import describe_test
from dragoman.evaluation.results import (
    SENTENCE_METRIC,
    SIGNIFICANCE_LEVEL,
    format_difference,
    format_metric_value,
    format_p_value,
    is_improvement,
    is_lower_better,
)
from dragoman.inspection.comparison.model_tables import (
    compare_settings,
    cost_tables,
    engines_differ,
    notable_search_settings,
    score_signatures,
)
from dragoman.inspection.comparison.report_types import (
    OTHER_QUANTITIES,
    TRAINING_LOSS,
    VALIDATION_LOSS,
    ComparisonReport,
    Curve,
    ModelDetails,
    SentenceComparison,
    SystemAttention,
    SystemTranslation,
)
from dragoman.inspection.comparison.verdict import best_systems, conclude
from dragoman.inspection.result import check_weights
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.line_chart import Scale, Series, legend_html, line_chart_svg, swatch_svg
from dragoman.reporting.number_format import format_compact, format_duration, metric_title
from dragoman.reporting.safe_display_text import reading_order
from dragoman.text.words import split_words

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

MAX_SENTENCE = 1500
"""Characters of a sentence that are shown."""


DiffMark = Literal["", "right", "wrong"]

AXES = {"updates": "updates", "tokens": "target tokens", "time": "time"}
"""Horizontal axes of learning curves, with their labels."""

_LOSSES = (TRAINING_LOSS, VALIDATION_LOSS)

Chart = tuple[str, str]
"""Title and SVG."""


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
        best={}
        if evaluation is None
        else {each: best_systems(evaluation.systems, each) for each in evaluation.metrics},
        level=SIGNIFICANCE_LEVEL,
        legend=legend_html(report.systems),
        axes=AXES,
        curves=curve_charts(report),
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


def _title(report: ComparisonReport) -> str:
    names = report.systems
    if len(names) == 1:
        return f"{names[0]}: report"
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}: compared"


@dataclass(frozen=True)
class DiffWord:
    """A word, punctuation or space; a mark if it differs: "right" if the reference has it, else "wrong"."""

    text: str
    mark: DiffMark


@dataclass(frozen=True)
class MarkedTranslation:
    """A translation split into words with marks."""

    translation: SystemTranslation
    words: Sequence[DiffWord]


def mark_differences(sentence: SentenceComparison, baseline: str | None) -> list[MarkedTranslation]:
    """Mark the words that differ: those of the baseline from all others, those of others from the baseline."""
    return [MarkedTranslation(each, _words(each, sentence, baseline)) for each in sentence.translations]


def _words(each: SystemTranslation, sentence: SentenceComparison, baseline: str | None) -> list[DiffWord]:
    rest = [other for other in sentence.translations if other is not each]
    others = [other for other in rest if other.system == baseline] or rest
    texts = [other.text[:MAX_SENTENCE] for other in others]
    return diff_words(each.text[:MAX_SENTENCE], texts, sentence.reference)


def attention_svg(attention: SystemAttention, source: str) -> str:
    """Draw a map with its columns in the reading order of the source; empty without weights."""
    if attention.weights is None:
        return ""
    weights = check_weights(attention.weights, attention.source_words, attention.target_words)
    columns, weights = reading_order(source, attention.source_words, weights)
    title = f"{attention.system}: attention map of {attention.translation}, from {source}"
    return heatmap_svg(columns, attention.target_words, weights, title=title)


def diff_words(text: str, others: Sequence[str], reference: str) -> list[DiffWord]:
    """Split a text into words, and mark those that another translation lacks, as ``diff`` finds them."""
    words = split_words(text)
    shared = [_shared(words, split_words(other)) for other in others]
    expected = _shared(words, split_words(reference))
    return [DiffWord(word, _mark(place, word, shared, expected)) for place, word in enumerate(words)]


def _mark(place: int, word: str, shared: Sequence[set[int]], expected: set[int]) -> DiffMark:
    if word.isspace() or all(place in each for each in shared):
        return ""
    return "right" if place in expected else "wrong"


def _shared(words: Sequence[str], other: Sequence[str]) -> set[int]:
    """Return the indices of words that both texts have."""
    blocks = SequenceMatcher(None, words, other, autojunk=False).get_matching_blocks()
    return {place for block in blocks for place in range(block.a, block.a + block.size)}


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
    ordered = sorted(quantities, key=lambda each: (each not in _LOSSES, each in OTHER_QUANTITIES))
    return {axis: [chart for each in ordered if (chart := _curve_chart(axis, each, runs))[1]] for axis in AXES}


def _curve_chart(axis: str, quantity: str, runs: Sequence[tuple[int, ModelDetails]]) -> Chart:
    lines = [
        Series(member.name, number, _points(curve, axis))
        for number, member in runs
        for curve in member.curves
        if curve.quantity == quantity
    ]
    is_score = quantity not in (*_LOSSES, *OTHER_QUANTITIES)
    title = f"{metric_title(quantity)} in validation" if is_score else quantity.capitalize()
    up = Scale(title, _format_score if is_score else _format_loss, is_log=quantity in _LOSSES)
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
