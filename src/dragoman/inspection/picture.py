"""An attention map as a picture in a file, PNG or SVG: a row for each target word, a column for each source word.

In an SVG letters are drawn as outlines, so that it looks the same where their fonts are not installed. A source that is
written from right to left has its columns in that order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len

from dragoman.data.check.visible import visible
from dragoman.errors import ConfigError
from dragoman.files import whole
from dragoman.inspection.direction import direction
from dragoman.inspection.plotting import fonts_for, import_matplotlib
from dragoman.inspection.weights import checked_weights
from dragoman.inspection.wrapped import shortened

__all__ = ["ENDINGS", "check_ending", "save_picture"]

ENDINGS = (".png", ".svg")
"""How the name of a picture may end."""

_CELL = 0.3  # inches
_POINTS = 10
_LONGEST = 24
_DOTS = 150  # an inch
_BAR = 0.14  # inches
_LONGEST_BAR = 2.4
_GROUND = "#d8d8d8"


def check_ending(path: Path) -> None:
    """Refuse a name that says nothing of a picture we can draw."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"a picture must end in {' or '.join(ENDINGS)}, got {path.name}; name it otherwise")


def save_picture(
    source_words: Sequence[str], target_words: Sequence[str], weights: ArrayLike, path: Path, *, title: str = ""
) -> tuple[str, ...]:
    """Draw attention weights into a file; it grows with the words. Return what a reader should know, a line each.

    Shapes: weights [target words, source words], numbers from 0 to 1.
    """
    check_ending(path)
    values = checked_weights(weights, source_words, target_words)
    sources, targets = ([shortened(word, _LONGEST) for word in words] for words in (source_words, target_words))
    title = visible(title)
    fonts = fonts_for("".join([*sources, *targets, title]))
    settings = {
        "font.family": list(fonts.names),
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "dragoman",  # else the same picture is another file each time
    }
    with import_matplotlib().rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the notes say so
        figure = _drawn(sources, targets, values, title, is_turned=direction(source_words) == "rtl")
        metadata = {"Date": None, "Title": title} if path.suffix.lower() == ".svg" else {"Title": title}
        with whole(path) as draft:
            figure.savefig(
                draft,
                format=path.suffix[1:].lower(),
                dpi=_DOTS,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata=metadata,
            )
    return fonts.notes


def _drawn(
    sources: Sequence[str], targets: Sequence[str], values: NDArray[np.float64], title: str, *, is_turned: bool
) -> Any:
    """A figure as large as the grid; names, bar and title stand around it, and are added to it when it is saved."""
    wide, high = max(1, len(sources)) * _CELL, max(1, len(targets)) * _CELL
    figure = import_matplotlib("matplotlib.figure").Figure(figsize=(wide, high), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    if values.size:
        drawn = axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        share = min(1.0, _LONGEST_BAR / high)
        bar = figure.add_axes((1 + 0.25 / wide, 1 - share, _BAR / wide, share))
        figure.colorbar(drawn, cax=bar, ticks=[0, 0.5, 1], label="looks at it").outline.set_visible(False)
        bar.tick_params(labelsize=_POINTS - 2)
    _name_columns(axes, sources)
    axes.set_yticks(range(len(targets)), targets, fontsize=_POINTS)
    axes.tick_params(length=0)
    rows, columns = len(targets), len(sources)
    axes.vlines(np.arange(columns + 1) - 0.5, -0.5, rows - 0.5, color=_GROUND, linewidth=0.5)
    axes.hlines(np.arange(rows + 1) - 0.5, -0.5, columns - 0.5, color=_GROUND, linewidth=0.5)
    axes.spines[:].set_visible(False)
    if is_turned:
        axes.invert_xaxis()
    if title:
        axes.set_xlabel(title, fontsize=_POINTS - 1, color="#555555", labelpad=6)
    return figure


def _name_columns(axes: Any, sources: Sequence[str]) -> None:
    """Words stand aslant above their columns, Chinese characters and their like upright."""
    axes.xaxis.tick_top()
    aslant = {"rotation": 45, "ha": "left", "va": "bottom", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(sources)), sources, fontsize=_POINTS, **aslant)
    for word, label in zip(sources, axes.get_xticklabels(), strict=True):
        if len(word) == 1 and cell_len(word) == 2:
            label.set(rotation=0, ha="center")
