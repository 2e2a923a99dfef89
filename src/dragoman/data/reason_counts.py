"""Count dropped or changed sentence pairs by reason, with examples; summary of a cleaned corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

MAX_EXAMPLES = 10
"""Maximum number of examples per reason."""

HEADER = "looks like a header"
"""The reason of a note on the first row of a table."""

READ_AS_PAIR = "it is read as a pair; "
"""Begin of the detail of such a note; the remedy follows."""

SHIFTED = "looks shifted against the other side"
"""The reason of a note on lines that match the translations of their neighbours."""

_LONGEST = 300  # characters of a text that an example shows

_TALLIES = ("faults", "notes", "repairs", "drops")


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
    """Counts by reason, and the first `MAX_EXAMPLES` examples of each; merged in order they are those of the whole."""

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
        for reason, count in later.counts.items():
            self.add(reason, count, later.examples.get(reason, ()))

    def renamed(self, names: Mapping[str, str]) -> Self:
        examples = {
            reason: [replace(example, file=names.get(example.file, example.file)) for example in found]
            for reason, found in self.examples.items()
        }
        return type(self)(dict(self.counts), examples)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
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


@dataclass
class CorpusSummary:
    """Counts of a corpus: records = faults + drops + kept. Notes and repairs concern kept and dropped records."""

    records: int = 0
    kept: int = 0
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)
    repairs: Tally = field(default_factory=Tally)
    drops: Tally = field(default_factory=Tally)

    def merge(self, later: CorpusSummary) -> None:
        self.records += later.records
        self.kept += later.kept
        for name in _TALLIES:
            getattr(self, name).merge(getattr(later, name))

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(self, **{name: getattr(self, name).renamed(names) for name in _TALLIES})

    def to_json(self) -> dict[str, Any]:
        tallies = {name: getattr(self, name).to_json() for name in _TALLIES}
        return {"records": self.records, "kept": self.kept, **tallies}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        tallies = {name: Tally.from_json(value[name]) for name in _TALLIES}
        return cls(value["records"], value["kept"], **tallies)
