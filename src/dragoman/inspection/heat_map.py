"""A heat map as SVG: a row for each target word, a column for each source word; colour is attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from dragoman.data.check.markup import plain
from dragoman.inspection.direction import direction

__all__ = ["heat_map"]

_CELL = 24
_SMALL_CELL = 18
_MANY = 30  # columns; above it cells are small
_LETTER = 7.8  # the width of a cell of text in the labels' font
_LONGEST = 24
_FAINTEST = 0.005
_GAP = 8


@dataclass(frozen=True)
class _Sizes:
    """Pixels: how large a cell is, where the grid begins, and how large everything is."""

    cell: int
    left: float
    top: float
    width: float
    height: float


def heat_map(
    source_words: Sequence[str], target_words: Sequence[str], weights: NDArray[np.float64], *, title: str
) -> str:
    """The picture. Rows and columns carry their number, so that a script can light them up.

    Shapes: weights [target words, source words], numbers from 0 to 1.
    """
    is_upright = max((cell_len(word) for word in source_words), default=0) <= 2
    sizes = _sizes(source_words, target_words, is_upright=is_upright)
    wide, high = f"{sizes.width:.0f}", f"{sizes.height:.0f}"
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    parts = [
        f'<svg class="map" role="img" {size} aria-label="{plain(title)}">',
        _ground(sizes, len(source_words), len(target_words)),
        *(_column_label(word, number, sizes, is_upright=is_upright) for number, word in enumerate(source_words)),
        *(_row(word, number, row, sizes) for number, (word, row) in enumerate(zip(target_words, weights, strict=True))),
        "</svg>",
    ]
    return "\n".join(parts)


def _sizes(source_words: Sequence[str], target_words: Sequence[str], *, is_upright: bool) -> _Sizes:
    cell = _CELL if len(source_words) <= _MANY else _SMALL_CELL
    left = _longest(target_words) * _LETTER + 2 * _GAP
    # Slanted labels rise to the right by 45 degrees.
    slanted = _longest(source_words) * _LETTER * 0.71 + 2 * _GAP
    top, beyond = (float(_CELL), 0.0) if is_upright else (slanted + _GAP, slanted)
    width = left + len(source_words) * cell + beyond + 2
    return _Sizes(cell, left, top, width, top + len(target_words) * cell + 2)


def _longest(words: Sequence[str]) -> int:
    return max((min(cell_len(word), _LONGEST) for word in words), default=1)


def _ground(sizes: _Sizes, sources: int, targets: int) -> str:
    """The empty grid, and the two bands that a script moves to the row and the column that are lit."""
    wide, high = sources * sizes.cell, targets * sizes.cell
    at = f'x="{sizes.left:g}" y="{sizes.top:g}"'
    return (
        f'<rect class="ground" {at} width="{wide}" height="{high}"/>'
        f'<rect class="band row" {at} width="{wide}" height="{sizes.cell}"/>'
        f'<rect class="band column" {at} width="{sizes.cell}" height="{high}"/>'
    )


def _column_label(word: str, number: int, sizes: _Sizes, *, is_upright: bool) -> str:
    x, y = sizes.left + (number + 0.5) * sizes.cell, sizes.top - _GAP
    turn = "" if is_upright else f' transform="rotate(-45 {x:g} {y:g})"'
    anchor = _anchored("middle" if is_upright else "start", word)
    return f'<text class="source" data-word="{number}" x="{x:g}" y="{y:g}" {anchor}{turn}>{_label(word)}</text>'


def _row(word: str, number: int, weights: NDArray[np.float64], sizes: _Sizes) -> str:
    """A target word and its weights; the weights that cannot be seen are left out."""
    cell = sizes.cell
    y = sizes.top + number * cell
    label = (
        f'<text class="target" data-word="{number}" x="{sizes.left - _GAP:g}" y="{y + 0.7 * cell:g}" '
        f"{_anchored('end', word)}>{_label(word)}</text>"
    )
    cells = "".join(
        f'<rect class="cell" x="{sizes.left + place * cell + 1:g}" y="{y + 1:g}" width="{cell - 2}" '
        f'height="{cell - 2}" fill-opacity="{weight:.3f}"/>'
        for place, weight in enumerate(weights.tolist())
        if weight >= _FAINTEST
    )
    return label + cells


def _anchored(anchor: str, word: str) -> str:
    """Attributes of a text. Its direction keeps punctuation at the right end of a word, and turns what its start is."""
    if direction(word) == "ltr":
        return f'text-anchor="{anchor}"'
    turned = {"start": "end", "end": "start"}.get(anchor, anchor)
    return f'direction="rtl" text-anchor="{turned}"'


def _label(word: str) -> str:
    return plain(word, _LONGEST)
