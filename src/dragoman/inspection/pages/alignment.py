"""Render word alignments and attention maps of sentence pairs as one self-contained HTML page.

Each sample has the source, the translation and a heat map. Selecting a word highlights the words linked to it. Without
scripting the page shows static maps.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from dragoman.inspection.result import check_weights
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.safe_display_text import text_direction, visible

_MAX_WORD = 60  # characters


class AlignedSample(Protocol):
    """A translation to show, with its reference if that is known.

    Shapes: weights [target words, source words], from 0 to 1; None if the model has no attention.
    """

    @property
    def source_words(self) -> Sequence[str]:
        """Words or tokens; a space may be one."""

    @property
    def target_words(self) -> Sequence[str]:
        """Words or tokens of the translation."""

    @property
    def weights(self) -> ArrayLike | None:
        """Attention weights."""

    @property
    def source(self) -> str:
        """The source text."""

    @property
    def translation(self) -> str:
        """The translated text."""

    @property
    def reference(self) -> str:
        """The reference translation; empty if unknown."""


@dataclass(frozen=True)
class _Sample:
    """Values of a sample for the template."""

    sample: AlignedSample
    data: str
    svg: str


def render_alignment_page(samples: Sequence[AlignedSample], *, title: str, introduction: str = "") -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    return render_page(
        "alignment.html",
        title=title,
        styles=("palette.css", "page.css", "samples.css", "alignment.css"),
        script="alignment.js",
        introduction=introduction,
        samples=[_values(sample) for sample in samples],
    )


def _values(sample: AlignedSample) -> _Sample:
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
