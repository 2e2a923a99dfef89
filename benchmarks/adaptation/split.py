"""Split messages into training, validation and test sets so that no message resembles one of another set."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence

SIMILARITY = 0.6
"""Share of common words (Jaccard) from which two messages are in one group, without quoted code and placeholders."""

_CODE = re.compile(r"'[^']*'|\{\d+\}|`[^`]*`|<[^>]*>")
_WORD = re.compile(r"\w+")


def words_of(text: str) -> frozenset[str]:
    """The words of a message without quoted code, placeholders and case."""
    return frozenset(_WORD.findall(_CODE.sub(" ", text.lower())))


def similarity_groups(pairs: Sequence[tuple[str, str]], similarity: float = SIMILARITY) -> list[list[int]]:
    """Group messages that are similar, directly or through others, in either language. Rows of each group, in order."""
    parents = list(range(len(pairs)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for side in (0, 1):
        bags = [words_of(pair[side]) for pair in pairs]
        holders: dict[str, list[int]] = defaultdict(list)
        for row, bag in enumerate(bags):
            common: dict[int, int] = defaultdict(int)
            for word in bag:
                for other in holders[word]:
                    common[other] += 1
                holders[word].append(row)
            for other, count in common.items():
                if count >= similarity * (len(bag) + len(bags[other]) - count):
                    parents[root(row)] = root(other)
        empty = [row for row, bag in enumerate(bags) if not bag]
        for row in empty[1:]:
            parents[root(row)] = root(empty[0])
    groups: dict[int, list[int]] = defaultdict(list)
    for row in range(len(pairs)):
        groups[root(row)].append(row)
    return list(groups.values())


def split(pairs: Sequence[tuple[str, str]], *, test: int, validation: int, seed: int = 1) -> dict[str, list[int]]:
    """Rows of the three sets; whole groups are drawn at random, small ones (at most 10) for the held-out sets."""
    groups = similarity_groups(pairs)
    random.Random(seed).shuffle(groups)
    sets: dict[str, list[int]] = {"test": [], "validation": [], "train": []}
    for group in groups:
        wanted = [name for name, size in (("test", test), ("validation", validation)) if len(sets[name]) < size]
        name = wanted[0] if wanted and len(group) <= 10 else "train"
        sets[name] += group
    return {name: sorted(rows) for name, rows in sets.items()}
