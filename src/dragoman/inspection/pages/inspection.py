"""Render inspected translations as one self-contained HTML page.

For each translation: attention as a heat map and as links, by layer, head and reading; the decoding steps with their
candidates; counterfactuals; the search tree. Without scripting the page shows each translation and one map of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.pages.inspection_data import check_maps, page_data
from dragoman.inspection.result import END, InspectionResult
from dragoman.reporting.bidi import reading_order
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import json_for_script, render_page

__all__ = ["render_inspection_page"]


def render_inspection_page(results: Sequence[InspectionResult], *, title: str) -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    return render_page(
        "inspection.html",
        title=title,
        styles=("palette.css", "page.css", "samples.css", "inspection.css"),
        script="inspection.js",
        samples=[(result, _static_map(result)) for result in results],
        values=json_for_script(page_data(results)),
    )


def _static_map(result: InspectionResult) -> str:
    """Draw the mean over the heads of the default layer, with columns in the reading order of the source."""
    if not result.has_attention:
        return ""
    weights = check_maps(result).predicted[result.default_layer].mean(0)
    columns, weights = reading_order(result.source, (*result.source_words, END), weights)
    title = f"Attention map: {result.translation}, from {result.source}"
    return heatmap_svg(columns, (*result.target_words, END), weights, title=title)
