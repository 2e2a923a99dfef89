"""Links between words from maps of weights, and one set of links from those of two directions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.alignment_error import Link, Links

__all__ = [
    "SYMMETRIZATIONS",
    "argmax_links",
    "grow_diag",
    "grow_diag_final",
    "grow_diag_final_and",
    "intersection",
    "mutual_links",
    "product_links",
    "swapped",
    "threshold_links",
    "union",
]

_NEIGHBOURS: Links = (
    (-1, 0),
    (0, -1),
    (1, 0),
    (0, 1),
    (-1, -1),
    (-1, 1),
    (1, -1),
    (1, 1),
)  # in the order they are tried


def argmax_links(weights: NDArray[np.floating], words: int | None = None) -> Links:
    """For every target word the source word that it looked at most; the first of equals.

    `words` is how many of the columns are source words: a target word that looked elsewhere most, at the end of the
    source, has no link. Nor has one that looked at nothing. Shapes: weights [tgt, src (+ 1)].
    """
    if not weights.size:
        return ()
    columns = weights.shape[1] if words is None else words
    best = weights.argmax(1)
    linked = (best < columns) & (weights.max(1) > 0)
    return tuple(sorted((int(best[target]), int(target)) for target in np.flatnonzero(linked)))


def threshold_links(weights: NDArray[np.floating], least: float) -> Links:
    """Every pair whose weight is at least `least`, and more than nothing. Shapes: weights [tgt, src]."""
    rows, columns = np.nonzero((weights >= least) & (weights > 0))
    return tuple(sorted(zip(columns.tolist(), rows.tolist(), strict=True)))


def mutual_links(weights: NDArray[np.floating]) -> Links:
    """The pairs of one map that are the best of their row and of their column. Shapes: weights [tgt, src].

    A source word's best target word is that which looked at it most.
    """
    return intersection(argmax_links(weights), swapped(argmax_links(weights.T)))


def product_links(forward: NDArray[np.floating], backward: NDArray[np.floating]) -> Links:
    """The pairs that are the best of their row and of their column in the product of the maps of both directions.

    Shapes: forward [tgt, src], backward [src, tgt], without the ends.
    """
    return mutual_links(forward * backward.T)


def swapped(links: Iterable[Link]) -> Links:
    """The same links, seen from the other language."""
    return tuple(sorted((target, source) for source, target in links))


def intersection(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """The links that both directions have. Links of both are given as source, target, here and below."""
    return tuple(sorted(set(forward) & set(backward)))


def union(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """The links that either direction has."""
    return tuple(sorted(set(forward) | set(backward)))


def grow_diag(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """The intersection, grown by neighbours out of the union that link a word which had no link. Paper: [koehn2003].

    Neighbours stand beside, above, below and at the corners. As in Moses, links are gone through by target word, then
    by source word, those just added among them, until none is added any more.
    """
    grown = _Grown(forward, backward)
    grown.grow()
    return grown.links()


def grow_diag_final(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """`grow_diag`, and then the links of either direction where one of the two words still has none.

    Those of `forward`, where each target word has its source word, come first, as in Moses.
    """
    grown = _Grown(forward, backward)
    grown.grow()
    grown.finish(either=True)
    return grown.links()


def grow_diag_final_and(forward: Iterable[Link], backward: Iterable[Link]) -> Links:
    """`grow_diag`, and then the links of either direction where neither of the two words has one."""
    grown = _Grown(forward, backward)
    grown.grow()
    grown.finish(either=False)
    return grown.links()


class _Grown:
    """Links in the making. Points are (target, source), the order that they are gone through in."""

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
                        place += self._add(point) <= place  # the point that is looked at moves on by one
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
        """Put a point in its place, and return that."""
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
"""The ways to make one set of links of those of two directions, by name."""
