"""Draw an attention map as SVG: one row per target word, one column per source word."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from dragoman.reporting.html import render
from dragoman.reporting.safe_display_text import text_direction

_CELL, _SMALL_CELL = 24, 18  # pixels
_SMALL_FROM = 30  # columns above which cells are small
_CHARACTER = 7.8  # pixels: width of a character in the font of the labels
_MAX_LABEL = 24  # characters
_MIN_WEIGHT = 0.005  # smaller weights are not drawn
_GAP = 8


@dataclass(frozen=True)
class _Layout:
    """Pixels: the size of a cell, the origin of the grid and the size of the picture."""

    cell: int
    left: float
    top: float
    width: float
    height: float
    is_upright: bool


@dataclass(frozen=True)
class _Label:
    word: str
    x: float
    y: float
    anchor: str
    direction: str


def heatmap_svg(
    source_words: Sequence[str],
    target_words: Sequence[str],
    weights: NDArray[np.float64],
    *,
    title: str,
    is_file: bool = False,
) -> str:
    """Draw the map, for a page or as a file. Shapes: weights [target words, source words], from 0 to 1."""
    layout = _layout(source_words, target_words)
    left, top, cell = layout.left, layout.top, layout.cell
    anchor = "middle" if layout.is_upright else "start"
    columns = [
        _Label(word, left + (place + 0.5) * cell, top - _GAP, *_anchor(anchor, word))
        for place, word in enumerate(source_words)
    ]
    rows = [
        _Label(word, left - _GAP, top + place * cell + 0.7 * cell, *_anchor("end", word))
        for place, word in enumerate(target_words)
    ]
    drawn = [
        [(left + place * cell + 1, weight) for place, weight in enumerate(row) if weight >= _MIN_WEIGHT]
        for row in weights.tolist()
    ]
    return render("heatmap.svg", title=title, layout=layout, columns=columns, rows=rows, weights=drawn, is_file=is_file)


def _layout(source_words: Sequence[str], target_words: Sequence[str]) -> _Layout:
    is_upright = max((cell_len(word) for word in source_words), default=0) <= 2
    cell = _CELL if len(source_words) <= _SMALL_FROM else _SMALL_CELL
    left = _max_label(target_words) * _CHARACTER + 2 * _GAP
    slanted = _max_label(source_words) * _CHARACTER * 0.71 + 2 * _GAP  # slanted labels rise to the right by 45 degrees
    top, beyond = (float(_CELL), 0.0) if is_upright else (slanted + _GAP, slanted)
    width = left + len(source_words) * cell + beyond + 2
    return _Layout(cell, left, top, width, top + len(target_words) * cell + 2, is_upright)


def _max_label(words: Sequence[str]) -> int:
    return max((min(cell_len(word), _MAX_LABEL) for word in words), default=1)


def _anchor(anchor: str, word: str) -> tuple[str, str]:
    """Return anchor and direction of a label: in right-to-left text, the start is at the right."""
    if text_direction(word) == "ltr":
        return anchor, ""
    return {"start": "end", "end": "start"}.get(anchor, anchor), "rtl"
