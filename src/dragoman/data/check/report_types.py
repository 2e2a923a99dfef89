"""Data classes of the report of ``dragoman check``, and its verdict and summaries for terminal and page."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any, Literal

from dragoman.data.preparation.selected_pairs import is_leak
from dragoman.data.reason_counts import CorpusSummary, Example, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.reporting.verdict import Verdict
from dragoman.text.other_language import SideLanguage
from dragoman.text.words import TextPair


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


DropStage = Literal["reading", "cleaning", "leakage", "duplicates", "held out"]


@dataclass(frozen=True)
class DropStep:
    """Pairs dropped from the training set for one reason, and the number left after it."""

    stage: DropStage
    reason: str
    count: int
    left: int


def training(report: CheckReport) -> list[CorpusReport]:
    """Return the training corpora."""
    return [corpus for corpus in report.corpora if corpus.role == "train"]


def verdict(report: CheckReport) -> Verdict:
    """Return whether the corpora are ready for preparation."""
    detail = _detail(report)
    if report.fatal:
        problems = format_count(len(report.fatal), "problem")
        return Verdict("error", f"Not ready: {problems} must be solved before training", detail)
    if not report.selection.kept:
        return Verdict("error", "Not ready: nothing is left to learn from", detail)
    is_odd = merged(report.corpora, "faults").total or any(corpus.looks_swapped for corpus in report.corpora)
    if report.advice or is_odd:
        ready = "Ready for a trial only" if report.is_small else "Ready"
        return Verdict("warning", f"{ready}, with {format_count(max(len(report.advice), 1), 'thing')} to check", detail)
    return Verdict("ok", "Ready", detail)


def _detail(report: CheckReport) -> str:
    own, selection = training(report), report.selection
    read, cleaned = (sum(getattr(corpus.summary, name) for corpus in own) for name in ("records", "kept"))
    # If an error stopped the check early, no pairs were selected.
    left, word = (selection.kept, "kept") if selection.cleaned else (cleaned, "left after cleaning")
    detail = f"{report.source} → {report.target}: {left:,} of {format_count(read, 'training pair')} are {word}"
    held_out = ", ".join(f"{count:,} {name}" for name, count in selection.held_out.items() if count)
    return f"{detail} ({format_percent(left, read)}){f'; held out: {held_out}' if held_out else ''}"


def merged(corpora: Iterable[CorpusReport], name: Literal["faults", "notes", "repairs", "drops"]) -> Tally:
    """Return the merged tally of several corpora."""
    whole = Tally()
    for corpus in corpora:
        whole.merge(getattr(corpus.summary, name))
    return whole


def waterfall(report: CheckReport) -> list[DropStep]:
    """Return all drop reasons from the pairs read to those kept, stage by stage, the most frequent first."""
    own = training(report)
    leaked, doubled, taken = Tally(), Tally(), Tally()
    taken.add("set aside for validation and test", report.selection.set_aside)
    for kind, count in report.selection.drops.counts.items():
        (leaked if is_leak(kind) else doubled).add(kind, count)
    stages: list[tuple[DropStage, Tally]] = [
        ("reading", merged(own, "faults")),
        ("cleaning", merged(own, "drops")),
        ("leakage", leaked),
        ("duplicates", doubled),
        ("held out", taken),
    ]
    left = sum(corpus.summary.records for corpus in own)
    steps: list[DropStep] = []
    for stage, tally in stages:
        for reason, count in sorted(tally.counts.items(), key=lambda item: (-item[1], item[0])):
            left -= count
            steps.append(DropStep(stage, reason, count, left))
    return steps


def leaks(report: CheckReport) -> dict[str, int]:
    """Return the number of training pairs that leak from held-out sets, by kind."""
    return {kind: count for kind, count in report.selection.drops.counts.items() if is_leak(kind)}


def places(tally: Tally, most: int) -> list[tuple[str, Example]]:
    """Return up to `most` examples, some of every reason, ordered by file and line."""
    queues = [[(reason, example) for example in examples] for reason, examples in tally.examples.items()]
    in_turn = [entry for round_ in zip_longest(*queues) for entry in round_ if entry is not None]
    return sorted(in_turn[:most], key=lambda entry: (entry[1], entry[0]))


def languages(report: CheckReport) -> list[tuple[CorpusReport, str, str, dict[str, float]]]:
    """Return each corpus and side with detected languages, and its expected language."""
    wanted = {"source": primary_language(report.source), "target": primary_language(report.target)}
    return [
        (corpus, side, wanted[side], shares)
        for corpus in report.corpora
        for side, shares in corpus.languages.items()
        if side in wanted and shares
    ]
