"""Extract alignment links from attention weights, and combine the links of both directions."""

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.alignment.error_rate import Link, Links

_NEIGHBOURS: Links = (
    (-1, 0),
    (0, -1),
    (1, 0),
    (0, 1),
    (-1, -1),
    (-1, 1),
    (1, -1),
    (1, 1),
)  # in the order of Moses


def swapped(links: Iterable[Link]) -> Links:
    """Return the links with source and target exchanged."""
    return tuple(sorted((target, source) for source, target in links))


def intersection(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """Return the links of both directions; all links are (source, target)."""
    return tuple(sorted(set(forward) & set(backward)))


def union(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """Return the links of either direction."""
    return tuple(sorted(set(forward) | set(backward)))


def grow_diag(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """Start from the intersection and add neighbours in the union that link an unlinked word. Paper: [koehn2003].

    Neighbours are horizontal, vertical and diagonal. As in Moses, links are visited by target word, then by source
    word, including those just added, until none is added.
    """
    grown = _GrowingLinks(forward, backward)
    grown.grow()
    return grown.links()


def grow_diag_final(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """Apply `grow_diag`, then add links of either direction, `forward` first, if one of their words is unlinked."""
    grown = _GrowingLinks(forward, backward)
    grown.grow()
    grown.finish(either=True)
    return grown.links()


def grow_diag_final_and(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """Apply `grow_diag`, then add links of either direction if both words are unlinked."""
    grown = _GrowingLinks(forward, backward)
    grown.grow()
    grown.finish(either=False)
    return grown.links()


class _GrowingLinks:
    """Growing set of links; points are (target, source), the order in which they are visited."""

    def __init__(self, forward: Iterable[Link], backward: Iterable[Link]) -> None:
        self._directions = set(swapped(forward)), set(swapped(backward))
        self._points: list[Link] = []
        self._targets: set[int] = set()
        self._sources: set[int] = set()
        for point in self._directions[0] & self._directions[1]:
            self._add(point)

    def grow(self) -> None:
        allowed = self._directions[0] | self._directions[1]
        before = -1
        while len(self._points) > before:
            before, place = len(self._points), 0
            while place < len(self._points):
                target, source = self._points[place]
                for down, right in _NEIGHBOURS:
                    point = target + down, source + right
                    if point in allowed and not (point[0] in self._targets and point[1] in self._sources):
                        place += self._add(point) <= place  # the current point moves by one
                place += 1

    def finish(self, *, either: bool) -> None:
        for direction in self._directions:
            for point in sorted(direction):
                linked = (point[0] in self._targets) + (point[1] in self._sources)
                if linked < (2 if either else 1):
                    self._add(point)

    def links(self) -> Links:
        return swapped(self._points)

    def _add(self, point: Link) -> int:
        """Insert a point in sorted order and return its index."""
        place = bisect_left(self._points, point)
        self._points.insert(place, point)
        self._targets.add(point[0])
        self._sources.add(point[1])
        return place


SYMMETRIZATIONS: dict[str, Callable[[Iterable[Link], Iterable[Link]], Links]] = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final": grow_diag_final,
    "grow-diag-final-and": grow_diag_final_and,
}
"""Symmetrization methods by name."""


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


def mutual_links(weights: NDArray[np.floating]) -> Links:
    """Link the pairs with the largest weight of their row and of their column. Shapes: weights [tgt, src]."""
    return intersection(argmax_links(weights), swapped(argmax_links(weights.T)))


def product_links(forward: NDArray[np.floating], backward: NDArray[np.floating]) -> Links:
    """Link the pairs with the largest value of row and column in the product of the maps of both directions.

    Shapes: forward [tgt, src], backward [src, tgt], without the ends.
    """
    return mutual_links(forward * backward.T)
