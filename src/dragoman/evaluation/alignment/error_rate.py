"""Compute alignment error rate, precision, recall and F1 of word alignment links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from dragoman.errors import DataError

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
