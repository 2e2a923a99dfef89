"""Data classes of the report of ``dragoman check``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dragoman.data.reason_counts import CorpusSummary, Tally
from dragoman.data.side_languages import SideLanguage
from dragoman.data.token_pairs import SIDES
from dragoman.text.word_links import TextPair


@dataclass(frozen=True)
class CorpusReport:
    """Report of one corpus: counts of cleaning, and the languages of a sample."""

    name: str
    role: Literal["train", "validation", "test"]
    files: list[str]
    summary: CorpusSummary
    languages: dict[str, dict[str, float]] = field(default_factory=dict)
    """By side: the share of each language, most frequent first."""
    chinese_scripts: Mapping[str, str] = field(default_factory=dict)
    """By side in Chinese: ``Hans`` or ``Hant``, the script of its text."""
    looks_swapped: bool = False
    """Whether most of each side is in the language of the other side."""
    side_names: Mapping[str, str] = field(default_factory=dict)
    """By side: the name of its file, if the corpus has one file per side and no name of its own."""
    swap_fix: str = "exchange its files"
    """How to exchange the sides."""
    encodings: Mapping[str, str] = field(default_factory=dict)
    """By path: the encoding of each file that is not UTF-8 as a whole."""
    declared: tuple[str, str] = ("", "")
    """Source and target language by the configuration."""

    def side_name(self, side: str) -> str:
        """Return the name of the file of a side; the name of the corpus if both sides share it."""
        return self.side_names.get(side, self.name)

    def judged_sides(self) -> list[tuple[str, SideLanguage]]:
        """Return each side with its declared language and the languages of its text."""
        return [
            (side, SideLanguage(language, self.languages.get(side, {})))
            for side, language in zip(SIDES, self.declared, strict=True)
        ]


@dataclass(frozen=True)
class SelectionStatistics:
    """Counts of the selection from the cleaned training pairs of all corpora."""

    cleaned: int
    kept: int
    drops: Tally
    """Leaked pairs and duplicates, by kind."""
    held_out: dict[str, int]
    """Number of pairs of the validation and test sets."""

    @property
    def set_aside(self) -> int:
        """Number of training pairs that become validation or test pairs; sets in files of their own take none."""
        return max(0, self.cleaned - self.drops.total - self.kept)


@dataclass(frozen=True)
class TokenStatistics:
    """Token statistics of a sample of the training pairs."""

    kind: str
    vocabulary: dict[str, int]
    """Size of each side's vocabulary, or of the joint one under `both`."""
    sampled: int
    max_tokens: int
    per_word: dict[str, float]
    """By side: tokens per word; a character of a script without spaces is a word."""
    unknown: dict[str, float]
    """By side of the held-out pairs: share of unknown and byte tokens."""
    unknown_examples: list[str]
    """The characters or words of these tokens, most frequent first."""
    too_long: int
    """Number of sampled pairs with more than max_tokens tokens, which would be dropped."""
    too_long_examples: Tally
    grown_from: int | None = None
    """The setting tokenizer.size if a larger size was chosen, because the characters of the text do not fit it."""


@dataclass(frozen=True)
class BatchStatistics:
    """Batches of an epoch of training."""

    batches: int
    target_tokens: int
    padding: float
    """Share of padding in all positions of both sides."""
    fill: float
    """Mean share of the token budget that batches use."""


@dataclass(frozen=True)
class TrainingCost:
    """Cost of training the model on this machine, extrapolated from a few updates."""

    parameters: int
    memory_bytes: int
    tokens_per_second: float
    updates: int
    epochs: float
    seconds: float
    is_busy: bool = False
    """Whether other programs used the processor during the measurement."""


@dataclass(frozen=True)
class CheckReport:
    """All results of ``dragoman check``."""

    source: str
    target: str
    corpora: list[CorpusReport]
    selection: SelectionStatistics
    tokens: TokenStatistics | None
    batches: BatchStatistics | None
    cost: TrainingCost | None
    advice: list[str]
    """Advice as sentences, most urgent first."""
    fatal: list[str]
    """Errors that prevent ``dragoman prepare`` or make its result useless, such as swapped sides."""
    is_small: bool = False
    """Whether there are too few pairs for a useful model."""
    changes: list[tuple[str, TextPair, TextPair]] = field(default_factory=list)
    """Examples of pairs that training changes (`data.augment`): the kind of change, the pair, and the changed pair."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
