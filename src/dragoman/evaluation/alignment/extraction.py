"""Extract word alignment links from attention weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.alignment.error_rate import Links
from dragoman.evaluation.alignment.symmetrization import intersection, swapped

__all__ = ["argmax_links", "mutual_links", "product_links", "threshold_links"]


def argmax_links(weights: NDArray[np.floating], words: int | None = None) -> Links:
    """Link every target word to the source word with the largest weight; the first of equals.

    `words` is the number of columns that are source words: a target word with its largest weight on another column, the
    end of the source, has no link. Nor has one without any weight. Shapes: weights [tgt, src (+ 1)].
    """
    if not weights.size:
        return ()
    columns = weights.shape[1] if words is None else words
    best = weights.argmax(1)
    linked = (best < columns) & (weights.max(1) > 0)
    return tuple(sorted((int(best[target]), int(target)) for target in np.flatnonzero(linked)))


def threshold_links(weights: NDArray[np.floating], least: float) -> Links:
    """Link every pair whose weight is positive and at least `least`. Shapes: weights [tgt, src]."""
    rows, columns = np.nonzero((weights >= least) & (weights > 0))
    return tuple(sorted(zip(columns.tolist(), rows.tolist(), strict=True)))


def mutual_links(weights: NDArray[np.floating]) -> Links:
    """Link the pairs with the largest weight of their row and of their column. Shapes: weights [tgt, src]."""
    return intersection(argmax_links(weights), swapped(argmax_links(weights.T)))


def product_links(forward: NDArray[np.floating], backward: NDArray[np.floating]) -> Links:
    """Link the pairs with the largest value of row and column in the product of the maps of both directions.

    Shapes: forward [tgt, src], backward [src, tgt], without the ends.
    """
    return mutual_links(forward * backward.T)
