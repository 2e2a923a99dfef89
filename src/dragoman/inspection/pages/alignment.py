"""Render word alignments and attention maps of sentence pairs as one self-contained HTML page.

Each sample has the source, the translation and a heat map. Selecting a word highlights the words linked to it. Without
scripting the page shows static maps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.inspection.result import check_weights
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.safe_display_text import text_direction, visible

if TYPE_CHECKING:
    from dragoman.training.callbacks.events import ValidationSample  # the package imports torch

_MAX_WORD = 60  # characters


@dataclass(frozen=True)
class _Sample:
    """Values of a sample for the template."""

    sample: ValidationSample
    data: str
    svg: str


def render_alignment_page(samples: Sequence[ValidationSample], *, title: str, introduction: str = "") -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    return render_page(
        "alignment.html",
        title=title,
        styles=("palette.css", "page.css", "samples.css", "alignment.css"),
        script="alignment.js",
        introduction=introduction,
        samples=[_values(sample) for sample in samples],
    )


def _values(sample: ValidationSample) -> _Sample:
    if sample.weights is None:
        return _Sample(sample, "", "")
    weights = check_weights(sample.weights, sample.source_words, sample.target_words)
    title = f"Attention map: {sample.translation}, from {sample.source}"
    data = {
        "title": visible(title),
        "sourceWords": [visible(word, _MAX_WORD) for word in sample.source_words],
        "targetWords": [visible(word, _MAX_WORD) for word in sample.target_words],
        "weights": weights.round(3).tolist(),
        "sourceDirection": text_direction(sample.source_words),
        "targetDirection": text_direction(sample.target_words),
    }
    svg = heatmap_svg(sample.source_words, sample.target_words, weights, title=title)
    return _Sample(sample, json.dumps(data, ensure_ascii=False, allow_nan=False), svg)
