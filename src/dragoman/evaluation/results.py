"""Data classes of an evaluation: scores, significance tests, results of single models and of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dragoman.evaluation.metrics.metadata import MIN_USEFUL_BLEU, SIGNIFICANCE_LEVEL, is_bleu_unsuited

__all__ = [
    "Evaluation",
    "FORMAT_VERSION",
    "Interval",
    "LengthBin",
    "MemberResult",
    "Perturbation",
    "Score",
    "SignificanceTest",
    "SystemResult",
    "TestSet",
    "Throughput",
    "useless_bleu",
]

FORMAT_VERSION = 2
"""Version of ``evaluation.json``."""


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval: mean ± half_width."""

    mean: float
    half_width: float


@dataclass(frozen=True)
class Score:
    """The value of a metric and its signature; compare only scores with equal signatures.

    The interval is over sentences (bootstrap) for one member, and over members (Student's t) for the mean of several.
    """

    metric: str
    value: float
    signature: str = ""
    interval: Interval | None = None


@dataclass(frozen=True)
class SignificanceTest:
    """The difference of a score from the baseline's, and its p-value."""

    metric: str
    test: Literal["bootstrap", "randomization", "welch"]
    difference: float
    p_value: float
    signature: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below the significance level."""
        return self.p_value < SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class LengthBin:
    """Scores of the sentences whose source has from `low` to `high` words (None: no upper limit)."""

    low: int
    high: int | None
    sentences: int
    scores: tuple[Score, ...]

    @property
    def label(self) -> str:
        """The range for display: 10–19, or 60+."""
        return f"{self.low}+" if self.high is None else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class Throughput:
    """Time and memory used to translate the test set.

    A few sentences are translated first, so that one-time initialization is not measured. `cpu_seconds` excludes the
    thread that computes metric statistics meanwhile; with all cores busy the two slow each other down a little.
    `peak_bytes` is the peak memory of the whole process.
    """

    sentences: int
    source_words: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    engine: str

    @property
    def sentences_per_second(self) -> float:
        """Translated sentences per second of wall-clock time."""
        return self.sentences / max(self.seconds, 1e-9)

    @property
    def words_per_second(self) -> float:
        """Source words per second of wall-clock time."""
        return self.source_words / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class Perturbation:
    """Scores on perturbed input, and the drop compared with the unperturbed input.

    Of `sentences` examined, only the `changed` texts are translated and scored. A drop is positive if the translations
    are worse, for every metric. A perturbation without references has `shares` instead of scores.
    """

    name: str
    sentences: int
    changed: int
    scores: tuple[Score, ...]
    drops: Mapping[str, float]
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MemberResult:
    """Results of one model or one file of translations; a system trained with several seeds has several members."""

    name: str
    path: str
    digest: str
    scores: tuple[Score, ...]
    hypotheses: tuple[str, ...] = field(repr=False)
    seed: int | None = None
    parameters: int | None = None
    tests: tuple[SignificanceTest, ...] = ()
    """Against the baseline's member of the same index, or its first. The only member of a system is tested against all
    members of the baseline: the mean difference and the largest p-value."""
    by_length: tuple[LengthBin, ...] = ()
    flags: Mapping[str, int] | None = None
    perturbations: tuple[Perturbation, ...] = ()
    throughput: Throughput | None = None


@dataclass(frozen=True)
class SystemResult:
    """Results of a system: its members, and their combined scores, tests and lengths (`aggregate_members`)."""

    name: str
    members: tuple[MemberResult, ...]
    scores: tuple[Score, ...]
    deviations: Mapping[str, float] = field(default_factory=dict)
    """Standard deviation over members by metric; empty for one member."""
    tests: tuple[SignificanceTest, ...] = ()
    by_length: tuple[LengthBin, ...] = ()

    def score(self, metric: str) -> Score | None:
        """Return the score of a metric, if the system has one."""
        return next((score for score in self.scores if score.metric == metric), None)

    def test(self, metric: str) -> SignificanceTest | None:
        """Return the significance test of a metric, if there is one."""
        return next((test for test in self.tests if test.metric == metric), None)


@dataclass(frozen=True)
class TestSet:
    """Name, size, digests and languages of a test set."""

    name: str
    sentences: int
    source_digest: str
    reference_digest: str
    languages: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Evaluation:
    """The results of all systems, and the information needed to repeat the evaluation."""

    test_set: TestSet
    systems: tuple[SystemResult, ...]
    baseline: str | None
    search: Mapping[str, Any]
    versions: Mapping[str, str]
    machine: str
    command: str
    resamples: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall-clock time: "all", and its parts "translating" (including opening models) and "scoring"."""
    notes: tuple[str, ...] = ()
    """Reasons to doubt the scores: a swapped test set, text in another language, a copy of the references."""

    @property
    def baseline_system(self) -> SystemResult | None:
        """The system that the others are compared with."""
        return next((system for system in self.systems if system.name == self.baseline), None)

    @property
    def members(self) -> tuple[MemberResult, ...]:
        """The members of all systems."""
        return tuple(member for system in self.systems for member in system.members)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of all systems, in order."""
        return tuple(dict.fromkeys(score.metric for system in self.systems for score in system.scores))

    def _repr_html_(self) -> str:
        """Return the scores of all systems as HTML, for notebooks."""
        from dragoman.evaluation.score_format import evaluation_html  # noqa: PLC0415 -- which imports this module

        return evaluation_html(self)

    def to_json(self, *, hypotheses: bool = False) -> dict[str, Any]:
        """Return plain values in the format of ``evaluation.json``; translations only on request."""
        value = {"format_version": FORMAT_VERSION} | asdict(self)
        if not hypotheses:
            for system in value["systems"]:
                for member in system["members"]:
                    del member["hypotheses"]
        return value


def useless_bleu(systems: Iterable[SystemResult], target: str) -> float | None:
    """Return the best BLEU if it is too low for a system that translates into a language; otherwise None.

    In languages without spaces that BLEU does not split, it is always low.
    """
    scores = [score.value for system in systems if (score := system.score("bleu")) is not None]
    best = max(scores, default=MIN_USEFUL_BLEU)
    return None if best >= MIN_USEFUL_BLEU or is_bleu_unsuited(target) else best
