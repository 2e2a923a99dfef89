"""Render a translation with its alignment as HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.reporting.heatmap import heatmap_svg

if TYPE_CHECKING:
    from dragoman.api.translation.translation import Translation

_STYLE = (
    "<style>.dragoman svg{max-width:100%;height:auto;font:13px sans-serif}.dragoman text{fill:currentColor}"
    ".dragoman .ground{fill:currentColor;fill-opacity:.05}.dragoman .cell{fill:#2563eb}"
    ".dragoman .band{fill:none}</style>"
)


def translation_html(translation: Translation) -> str:
    """Return the text, and per sentence the attention weights or the word links, without any script."""
    maps = "".join(map(_heatmap, translation.sentences or (translation,)))
    text = escape(translation.text)
    return f'<div class="dragoman">{_STYLE if maps else ""}<p dir="auto">{text}</p>{maps}</div>'


def _heatmap(sentence: Translation) -> str:
    weights = _weights(sentence)
    if weights is None or not weights.size:
        return ""
    return heatmap_svg(sentence.source_words, sentence.target_words, weights, title=sentence.text)


def _weights(sentence: Translation) -> NDArray[np.float64] | None:
    """Return the weights between words, or 1 for each link. Shapes: [tgt, src]."""
    if sentence.weights is not None:
        return np.array(sentence.weights, dtype=np.float64)
    if sentence.alignment is None:
        return None
    weights = np.zeros((len(sentence.target_words), len(sentence.source_words)))
    for source, target in sentence.alignment:
        weights[target, source] = 1.0
    return weights
