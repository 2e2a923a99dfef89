"""Recognize stored tables of positions that can be computed."""

import numpy as np
from numpy.typing import NDArray

from dragoman.importing.file_formats.weight_table import Array

LAYOUTS = ("sinusoidal", "sinusoidal-halves", "sinusoidal-tensor2tensor")
_TOLERANCE = 2e-3
_COMPARED = 512


def find_layout(table: Array) -> tuple[str, int] | None:
    """Return the setting `positions` and the offset of a table of sinusoids. Shapes: table [positions, dim]."""
    rows, dim = min(len(table), _COMPARED), table.shape[1]
    for layout in LAYOUTS:
        for offset in (0, 1, 2):
            if np.abs(table[:rows] - _sinusoids(layout, offset, rows, dim)).max(initial=0.0) < _TOLERANCE:
                return layout, offset
    return None


def _sinusoids(layout: str, offset: int, rows: int, dim: int) -> NDArray[np.float64]:
    even, step = np.arange(0, dim, 2, dtype=np.float64), dim
    if layout == "sinusoidal-tensor2tensor":
        even, step = even[: dim // 2], max(dim // 2 - 1, 1) * 2
    angle = (np.arange(rows, dtype=np.float64)[:, np.newaxis] + offset) * np.exp(even * (-np.log(10000.0) / step))
    if layout == "sinusoidal":
        both = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(rows, -1)
    else:
        both = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
        both = np.pad(both, ((0, 0), (0, max(0, dim - both.shape[1]))))
    return both[:, :dim]
