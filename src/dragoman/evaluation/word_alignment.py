"""Word alignments: error rate, extraction from attention weights, symmetrization, Pharaoh and NAACL formats."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError, DataError

Link = tuple[int, int]
"""Index of a source word and of a target word, from 0."""

Links = tuple[Link, ...]
"""The links of a sentence pair, sorted by source word."""


@dataclass(frozen=True)
class GoldLinks:
    """Manually annotated links of one sentence pair; `possible` always includes the sure links."""

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        """Accept any collections of pairs, and add the sure links to the possible ones."""
        object.__setattr__(self, "sure", frozenset(self.sure))
        object.__setattr__(self, "possible", frozenset(self.possible) | self.sure)

    def swapped(self) -> GoldLinks:
        return GoldLinks(
            *(frozenset((target, source) for source, target in side) for side in (self.sure, self.possible))
        )


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment error rate (0 is best) and related scores of a set of sentence pairs.

    `found`, `sure` and `possible` (including the sure ones) are numbers of links; `found_sure` and `found_possible` are
    the numbers of links found among them.
    """

    aer: float
    precision: float
    recall: float
    f1: float
    found: int
    sure: int
    possible: int
    found_sure: int
    found_possible: int

    def to_json(self) -> dict[str, float | int]:
        return asdict(self)


def score_alignment(found: Sequence[Iterable[Link]], gold: Sequence[GoldLinks]) -> AlignmentScores:
    """Score links against gold links, with sums over all sentence pairs.

    Paper: [och2003], section 6. With links found A, sure S and possible P ⊇ S: precision
    |A ∩ P| / |A|, recall |A ∩ S| / |S|, AER 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); F1 is the harmonic mean of precision
    and recall. Without links found, precision is 1; without sure links, recall is 1.
    """
    if len(found) != len(gold) or not gold:
        raise DataError(
            f"links found and gold links must have the same number of sentence pairs, at least one, got {len(found)} "
            f"and {len(gold)}; give one line of links for each pair"
        )
    sets = [frozenset(links) for links in found]
    links = sum(map(len, sets))
    sure, possible = sum(len(each.sure) for each in gold), sum(len(each.possible) for each in gold)
    found_sure = sum(len(each & true.sure) for each, true in zip(sets, gold, strict=True))
    found_possible = sum(len(each & true.possible) for each, true in zip(sets, gold, strict=True))
    precision, recall = _share(found_possible, links), _share(found_sure, sure)
    both = precision + recall
    return AlignmentScores(
        aer=1 - _share(found_sure + found_possible, links + sure),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / both if both else 0.0,
        found=links,
        sure=sure,
        possible=possible,
        found_sure=found_sure,
        found_possible=found_possible,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


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


LinkFormat = Literal["pharaoh", "naacl"]
"""Formats of link files.

``pharaoh``: one line per sentence pair, ``0-0 1-2``; ``1p2`` and ``?1-2`` (or ``1?2``) are possible links.
``naacl``: one line per link, ``7 1 2 S``, beginning with the number of the sentence pair; all numbers count from 1. The
mark ``S`` or ``P`` may be missing, which means sure; a confidence may follow.
"""

_PHARAOH = re.compile(r"(\?)?([0-9]{1,9})([-p?])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[-+0-9.eE]+)?")
_Lengths = Sequence[tuple[int, int]]


def detect_format(lines: Iterable[str]) -> LinkFormat | None:
    """Return the format of lines, or None if it is ambiguous or neither."""
    texts = [line for line in lines if line.strip()]
    if texts and all(_PHARAOH.fullmatch(item) for line in texts for item in line.split()):
        return "pharaoh"
    if texts and all(_NAACL.fullmatch(line.strip()) for line in texts):
        return "naacl"
    return None


def parse_gold_links(
    lines: Sequence[str],
    *,
    name: str = "links",
    form: LinkFormat | None = None,
    first: int | None = None,
    lengths: _Lengths | None = None,
    pairs: int | None = None,
) -> list[GoldLinks]:
    """Parse lines of sure and possible links; `name` is the name of the file in errors.

    `form` is detected by default. `first` is the number of the first word, by default 0 in the Pharaoh format and 1 in
    the NAACL format. `lengths` are the numbers of words of both sides of each pair: a link outside them is a
    `DataError`. `pairs` is the number of sentence pairs of a NAACL file, whose last pairs may have no link; it follows
    from `lengths` if they are given.
    """
    form = form or detect_format(lines) or _unknown_format(name, lines)
    first = _first_number(form, first)
    count = len(lengths) if lengths is not None else pairs
    rows = _pharaoh_rows(lines, name) if form == "pharaoh" else _naacl_rows(lines, name)
    if form == "pharaoh" and count is None:
        count = len(lines)
    if form == "pharaoh" and count != len(lines):
        raise DataError(
            f"{name} must have a line of links for each of {count:,} sentence pairs, got {len(lines):,} lines; see "
            "whether it belongs to these texts"
        )
    found: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, pair, source, target, is_sure in rows:
        if pair < 0 or (count is not None and pair >= count):
            rule = "at least 1" if count is None else f"from 1 to {count:,}"
            raise DataError(
                f"{name}:{number}: the number of a sentence pair must be {rule}, got {pair + 1:,}; see whether the "
                "file belongs to these texts"
            )
        link = source - first, target - first
        _check_position(f"{name}:{number}", link, first, None if lengths is None else lengths[pair])
        found.setdefault(pair, (set(), set()))[0 if is_sure else 1].add(link)
    last = count if count is not None else max(found, default=-1) + 1
    empty: tuple[set[Link], set[Link]] = (set(), set())
    return [GoldLinks(*map(frozenset, found.get(pair, empty))) for pair in range(last)]


def pharaoh_line(links: Iterable[Link] | GoldLinks, *, first: int = 0) -> str:
    """Format the links of a sentence pair as a line in the Pharaoh format: ``0-0 1p2``."""
    gold = links if isinstance(links, GoldLinks) else GoldLinks(frozenset(links))
    return " ".join(
        f"{source + first}{'-' if (source, target) in gold.sure else 'p'}{target + first}"
        for source, target in sorted(gold.possible)
    )


_Row = tuple[int, int, int, int, bool]  # the line, the pair from 0, the words as they are written, is it sure?


def _pharaoh_rows(lines: Sequence[str], name: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        for item in line.split():
            found = _PHARAOH.fullmatch(item)
            if found is None:
                raise DataError(
                    f"{name}:{number}: a link must be two numbers such as 3-5, or 3p5 if it is only possible, got "
                    f"{item!r}; see which format the file has"
                )
            yield number, number - 1, int(found[2]), int(found[4]), found[3] == "-" and not found[1]


def _naacl_rows(lines: Sequence[str], name: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _NAACL.fullmatch(line.strip())
        if found is None:
            raise DataError(
                f"{name}:{number}: a line must be a pair, two words and a mark such as 1 3 5 S, got {line.strip()!r}; "
                "see which format the file has"
            )
        yield number, int(found[1]) - 1, int(found[2]), int(found[3]), found[4] != "P"


def _unknown_format(name: str, lines: Sequence[str]) -> LinkFormat:
    if not any(line.strip() for line in lines):
        return "pharaoh"  # pairs without links; their number is checked
    raise DataError(
        f"{name} must be links in the Pharaoh format (3-5 4p6) or the NAACL format (1 3 5 S); name "
        "the format to learn in which line"
    )


def _first_number(form: LinkFormat, first: int | None) -> int:
    if form not in {"pharaoh", "naacl"}:
        raise ConfigError(f"the format of links must be pharaoh or naacl, got {form!r}; name one of them")
    if first not in {None, 0, 1}:
        raise ConfigError(f"words must be counted from 0 or 1, got {first}; see the first links of the file")
    return first if first is not None else int(form == "naacl")


def _check_position(where: str, link: Link, first: int, lengths: tuple[int, int] | None) -> None:
    for side, place, words in zip(("source", "target"), link, lengths or (None, None), strict=True):
        if words == 0:
            raise DataError(
                f"{where}: a link has {side} word {place + first}, but the {side} of "
                "this pair has no words; see whether the file belongs to these texts"
            )
        if place < 0 or (words is not None and place >= words):
            rule = f"at least {first}" if words is None else f"from {first} to {words - 1 + first}"
            raise DataError(
                f"{where}: the {side} word of a link must be {rule}, got {place + first}; see whether words count from "
                f"{1 - first}, and which side comes first"
            )
