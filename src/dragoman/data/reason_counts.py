"""Count dropped or changed sentence pairs by reason, with a few examples of each reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

__all__ = ["Example", "HEADER", "MAX_EXAMPLES", "READ_AS_PAIR", "SHIFTED", "Tally", "header_warning", "reading_notes"]

MAX_EXAMPLES = 10
"""Maximum number of examples per reason."""

HEADER = "looks like a header"
"""The reason of a note on the first row of a table."""

READ_AS_PAIR = "it is read as a pair; "
"""Begin of the detail of such a note; the remedy follows."""

SHIFTED = "looks shifted against the other side"
"""The reason of a note on lines that match the translations of their neighbours."""

_LONGEST = 300  # characters of a text that an example shows


@dataclass(frozen=True, order=True)
class Example:
    """A line of a file (from 1), its texts and a detail."""

    file: str
    line: int
    source: str = ""
    target: str = ""
    detail: str = ""

    @property
    def place(self) -> str:
        """The location as ``file:line``."""
        return f"{self.file}:{self.line}"


@dataclass
class Tally:
    """Counts by reason, and the first `MAX_EXAMPLES` examples of each, in insertion order.

    Merging the tallies of the parts of a corpus in order gives the tally of the corpus.
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1, examples: Iterable[Example] = ()) -> None:
        """Add `count` to a reason; only as many examples as needed are read."""
        if not count:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        kept = self.examples.setdefault(reason, [])
        for _, example in zip(range(MAX_EXAMPLES - len(kept)), examples, strict=False):
            kept.append(_cut(example))

    def merge(self, later: Tally) -> None:
        """Add the tally of a later part of the corpus."""
        for reason, count in later.counts.items():
            self.add(reason, count, later.examples.get(reason, ()))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the tally with files renamed."""
        examples = {
            reason: [replace(example, file=names.get(example.file, example.file)) for example in found]
            for reason, found in self.examples.items()
        }
        return type(self)(dict(self.counts), examples)

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        """Return the tally as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        examples = {reason: [Example(**example) for example in found] for reason, found in value["examples"].items()}
        return cls(dict(value["counts"]), examples)


def _cut(example: Example) -> Example:
    return Example(example.file, example.line, *(_shorten(t) for t in (example.source, example.target, example.detail)))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def header_warning(notes: Tally) -> str:
    """Return a warning of a first row that names the columns; empty if there is none."""
    found = notes.examples.get(HEADER, [])
    fix = found[0].detail.removeprefix(READ_AS_PAIR) if found else ""
    return f"{found[0].place} looks like a header, and would be a pair: {fix}" if found else ""


def reading_notes(notes: Tally) -> list[str]:
    """Return what was removed from lines or is unusual in them, except for what has a warning of its own."""
    return [
        f"{reason}: {count:,} {'line' if count == 1 else 'lines'}, the first is {notes.examples[reason][0].place}"
        for reason, count in notes.counts.items()
        if reason not in (HEADER, SHIFTED) and notes.examples.get(reason)
    ]
