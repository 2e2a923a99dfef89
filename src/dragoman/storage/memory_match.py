"""Score how well a unit of a memory matches a text.

| score | the unit has |
|---|---|
| 101 | the same text between the same neighbours |
| 100 | the same text |
| 99 | the same text with other numbers, placeholders or tags, which its translation takes over |
| at most 98 | the share of words in common: 1 - edit distance / number of words of the longer text |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import Levenshtein

from dragoman.storage.segment_text import Masked, carry_over, mask, normalize_segment, segment_words

if TYPE_CHECKING:
    from dragoman.storage.memories import StoredUnit

CONTEXT, SAME, EXACT = 101, 100, 99
"""Scores of exact matches; the last one has other variables."""
_MOST_FUZZY = 98
_MATCHES = 10  # fuzzy ones that are kept


@dataclass(frozen=True, slots=True)
class Query:
    """A text to look up, and its neighbours, if they are known."""

    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A unit, its score, and its translation with the variables of the text."""

    unit: StoredUnit
    score: int
    text: str
    memory: str = ""
    """Name of the memory."""

    @property
    def is_exact(self) -> bool:
        return self.score >= EXACT

    def named(self, memory: str) -> Match:
        return replace(self, memory=memory)

    def differences(self, text: str) -> list[tuple[str, str]]:
        """Return the words of the unit's source that differ, each with those of a text in their place."""
        old, new = (segment_words(normalize_segment(each)) for each in (self.unit.source, text))
        operations = Levenshtein.opcodes(old, new)
        return [
            (" ".join(old[each.src_start : each.src_end]), " ".join(new[each.dest_start : each.dest_end]))
            for each in operations
            if each.tag != "equal"
        ]


def exact_match(query: Query, masked: Masked, unit: StoredUnit) -> Match | None:
    """Return the match of a unit that has the same text except for variables."""
    if unit.source == normalize_segment(query.text):
        before, after = normalize_segment(query.before), normalize_segment(query.after)
        is_between = bool(before or after) and (unit.before, unit.after) == (before, after)
        return Match(unit, CONTEXT if is_between else SAME, unit.target)
    old = mask(unit.source)
    if old.text != masked.text:  # another text with the same hash
        return None
    carried = carry_over(old, masked, unit.target)
    return Match(unit, _MOST_FUZZY, unit.target) if carried is None else Match(unit, EXACT, carried)


def fuzzy_match(query: Masked, candidates: Iterable[Any], threshold: float) -> dict[int, int]:
    """Return the scores of the best candidates, rows with number and source, by their number."""
    words = segment_words(query.text)
    found = []
    for number, source in candidates:
        share = Levenshtein.normalized_similarity(words, segment_words(mask(source).text), score_cutoff=threshold / 100)
        if (score := min(_MOST_FUZZY, int(100 * share + 0.5))) >= threshold:
            found.append((score, number))
    found.sort(reverse=True)
    return {number: score for score, number in found[:_MATCHES]}
