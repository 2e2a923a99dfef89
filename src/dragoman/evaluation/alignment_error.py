"""How far links between words are from those that people drew: the alignment error rate, precision, recall and F1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from dragoman.errors import DataError

__all__ = ["AlignmentError", "Gold", "Link", "Links", "alignment_error"]

Link = tuple[int, int]
"""A source word and a target word, counted from 0."""

Links = tuple[Link, ...]
"""The links of a sentence pair, in the order of the source."""


@dataclass(frozen=True)
class Gold:
    """The links that people drew in one sentence pair: those that must be there, and those that may be.

    Sure links are possible too; `possible` always holds them.
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        """Take any collection of pairs, and count sure links among the possible ones."""
        object.__setattr__(self, "sure", frozenset(self.sure))
        object.__setattr__(self, "possible", frozenset(self.possible) | self.sure)

    def swapped(self) -> Gold:
        """The same links, seen from the other language."""
        return Gold(*(frozenset((target, source) for source, target in side) for side in (self.sure, self.possible)))


@dataclass(frozen=True)
class AlignmentError:
    """The alignment error rate of a whole set, 0 the best and 1 the worst, and what it was computed from.

    `found`, `sure` and `possible` (sure ones among them) are numbers of links; `found_sure` and `found_possible` are
    how many of those found are among them.
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
        """Return plain values."""
        return asdict(self)


def alignment_error(found: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> AlignmentError:
    """Compare links with gold ones, sums taken over all sentence pairs.

    Paper: [och2003], section 6. With links found A, sure S and possible P, which S is a part of: precision
    |A ∩ P| / |A|, recall |A ∩ S| / |S|, AER 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); F1 is the harmonic mean of precision
    and recall. Where nothing is found, precision is 1, and where nothing is sure, recall is 1: nothing is wrong.
    """
    if len(found) != len(gold) or not gold:
        raise DataError(
            f"links found and gold links must be of as many sentence pairs, and at least one, got {len(found)} and "
            f"{len(gold)}; give one line of links for each pair"
        )
    sets = [frozenset(links) for links in found]
    links = sum(map(len, sets))
    sure, possible = sum(len(each.sure) for each in gold), sum(len(each.possible) for each in gold)
    found_sure = sum(len(each & true.sure) for each, true in zip(sets, gold, strict=True))
    found_possible = sum(len(each & true.possible) for each, true in zip(sets, gold, strict=True))
    precision, recall = _share(found_possible, links), _share(found_sure, sure)
    both = precision + recall
    return AlignmentError(
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
