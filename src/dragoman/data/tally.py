"""Counting what happened to pairs, with the first places where it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

__all__ = ["Example", "MOST_EXAMPLES", "Tally"]

MOST_EXAMPLES = 10
"""So many places are kept of each thing that is counted."""

_LONGEST = 300  # characters of a text that an example shows


@dataclass(frozen=True, order=True)
class Example:
    """One place: a line of a file (counted from 1), what stands there, and what there is to say about it."""

    file: str
    line: int
    source: str = ""
    target: str = ""
    detail: str = ""

    @property
    def place(self) -> str:
        """Where it is, as editors and compilers write it."""
        return f"{self.file}:{self.line}"


@dataclass
class Tally:
    """How often each thing happened and the first `MOST_EXAMPLES` of each, in the order in which they were added.

    Tallies of the parts of a corpus, merged in order, are the tally of the whole.
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1, examples: Iterable[Example] = ()) -> None:
        """Count `reason` so many times more; of the examples only as many as there is room for are looked at."""
        if not count:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        kept = self.examples.setdefault(reason, [])
        for _, example in zip(range(MOST_EXAMPLES - len(kept)), examples, strict=False):
            kept.append(_cut(example))

    def merge(self, later: Tally) -> None:
        """Add what a later part of the corpus counted."""
        for reason, count in later.counts.items():
            self.add(reason, count, later.examples.get(reason, ()))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same, with files called by these names."""
        examples = {
            reason: [replace(example, file=names.get(example.file, example.file)) for example in found]
            for reason, found in self.examples.items()
        }
        return type(self)(dict(self.counts), examples)

    @property
    def total(self) -> int:
        """How often anything happened."""
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        """The tally as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        examples = {reason: [Example(**example) for example in found] for reason, found in value["examples"].items()}
        return cls(dict(value["counts"]), examples)


def _cut(example: Example) -> Example:
    return Example(example.file, example.line, *(_shorten(t) for t in (example.source, example.target, example.detail)))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
