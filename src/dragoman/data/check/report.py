"""The report of ``dragoman check``: plain values, which a screen, a script and a page show each in their way."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dragoman.data.preparation.summary import Summary
from dragoman.data.tally import Tally

__all__ = ["Batches", "CorpusReport", "Cost", "Pieces", "Report", "Selection"]


@dataclass(frozen=True)
class CorpusReport:
    """One corpus: what was read, mended and dropped, and which languages a sample of it is in."""

    name: str
    role: Literal["train", "validation", "test"]
    files: list[str]
    summary: Summary
    languages: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of the source and of the target side: the share of each language, most frequent first."""
    looks_swapped: bool = False
    """Whether most of the source side is in the target language and the other way round."""


@dataclass(frozen=True)
class Selection:
    """What becomes of the cleaned training pairs of all corpora together."""

    cleaned: int
    kept: int
    drops: Tally
    """Leaked pairs and duplicates, by kind."""
    held_out: dict[str, int]
    """Pairs of the validation and test sets, wherever they come from."""


@dataclass(frozen=True)
class Pieces:
    """The tokenizer at work on the training pairs (a sample of them)."""

    kind: str
    vocabulary: dict[str, int]
    """The size of each side's vocabulary, or of the one for `both`."""
    sampled: int
    histograms: dict[str, list[int]]
    """How many pairs have 0, 1, 2, …, max_pieces pieces on the source and on the target side."""
    a_word: dict[str, float]
    """Pieces a word, of each side."""
    unknown: dict[str, float]
    """The share of pieces that are unknown or spelt in bytes, of each side of the held-out pairs."""
    unknown_examples: list[str]
    """The characters or words concerned, most frequent first."""
    too_long: int
    """Sampled pairs with more pieces than max_pieces: they would be left out."""
    too_long_examples: Tally


@dataclass(frozen=True)
class Batches:
    """An epoch as training would see it."""

    batches: int
    target_pieces: int
    padding: float
    """The share of padding among all cells of both sides."""
    fill: float
    """How full batches are, of what the token budget allows."""


@dataclass(frozen=True)
class Cost:
    """What training the chosen model would take on this machine, from a few real updates."""

    parameters: int
    memory_bytes: int
    pieces_per_second: float
    updates: int
    epochs: float
    seconds: float
    is_busy: bool = False
    """Whether other programs kept the processor busy meanwhile."""


@dataclass(frozen=True)
class Report:
    """Everything that ``dragoman check`` found."""

    source: str
    target: str
    corpora: list[CorpusReport]
    selection: Selection
    pieces: Pieces | None
    batches: Batches | None
    cost: Cost | None
    advice: list[str]
    """What to do about it, most urgent first; each a sentence."""
    fatal: list[str]
    """What keeps ``dragoman prepare`` from running: errors with their mend."""

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)
