"""Results of an evaluation: scores, significance tests, single models and systems; how tables show them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dragoman.plugins import find_plugin, load_plugin
from dragoman.reporting.html import table_html
from dragoman.reporting.number_format import format_count, metric_title

SIGNIFICANCE_LEVEL = 0.05
MIN_USEFUL_BLEU = 5.0  # below it, hardly a sentence can be understood
_UNSPLIT = {"bo", "dz", "km", "lo", "my", "th"}  # without spaces, and without a tokenizer of BLEU
SENTENCE_METRIC = "chrf++"
"""The metric of single sentences."""

_LOWER_IS_BETTER = ("ter",)
_MIN_P_VALUE = 0.001


def decimals(metric: str) -> int:
    """Return the number of decimals shown: four for COMET, whose scores are between 0 and 1, else two."""
    return 4 if metric.lower() == "comet" else 2


def is_lower_better(metric: str) -> bool:
    """Whether a lower value is better; of a plug-in that is not installed, the higher value is taken to be better."""
    if find_plugin("metrics", metric) is not None:
        return bool(load_plugin("metrics", metric).is_lower_better)
    return metric.lower() in _LOWER_IS_BETTER


def is_improvement(metric: str, difference: float) -> bool:
    """Whether a difference from the baseline is an improvement."""
    return (difference < 0) == is_lower_better(metric) and difference != 0


def format_metric_value(metric: str, value: float) -> str:
    """Format a value with the decimals of its metric."""
    return f"{value:.{decimals(metric)}f}"


def format_difference(metric: str, difference: float) -> str:
    """Format a difference with its sign."""
    return f"{difference:+.{decimals(metric)}f}".replace("-", "−")


def format_p_value(value: float, separator: str = " ") -> str:
    """Format a p-value with three decimals, more near the level: 0.0496 is not shown as 0.050."""
    if value < _MIN_P_VALUE:
        return f"p{separator}<{separator}{_MIN_P_VALUE}"
    places = 3 if value == SIGNIFICANCE_LEVEL or abs(value - SIGNIFICANCE_LEVEL) >= 0.0005 else 4
    while value < SIGNIFICANCE_LEVEL <= float(f"{value:.{places}f}"):
        places += 1
    return f"p{separator}={separator}{value:.{places}f}"


def is_bleu_unsuited(language: str) -> bool:
    """Whether BLEU counts whole sentences as words in a language."""
    return language.partition("-")[0] in _UNSPLIT


FORMAT_VERSION = 2
"""Version of ``evaluation.json``."""

SIGNIFICANCE_MARK = "*"
"""Follows scores that differ significantly from the baseline's."""

_TEST_NAMES = {
    "bootstrap": "sacreBLEU's paired bootstrap resampling",
    "randomization": "sacreBLEU's paired approximate randomization",
}


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval: mean ± half_width."""

    mean: float
    half_width: float


@dataclass(frozen=True)
class Score:
    """A metric's value, comparable under equal signatures; the interval is over sentences, or over members."""

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
class SetScore:
    """Scores of one model, "trained" or its "base", on one set; `tests` compare both."""

    name: str
    model: str
    sentences: int
    scores: tuple[Score, ...]
    tests: tuple[SignificanceTest, ...] = ()


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
        return tuple(member for system in self.systems for member in system.members)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of all systems, in order."""
        return tuple(dict.fromkeys(score.metric for system in self.systems for score in system.scores))

    def _repr_html_(self) -> str:
        """Return the scores of all systems as HTML, for notebooks."""
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
    """Return the best BLEU if it is too low for a system, unless BLEU cannot split the language; else None."""
    scores = [score.value for system in systems if (score := system.score("bleu")) is not None]
    best = max(scores, default=MIN_USEFUL_BLEU)
    return None if best >= MIN_USEFUL_BLEU or is_bleu_unsuited(target) else best


def format_score(score: Score, test: SignificanceTest | None = None) -> str:
    """Format a score with its interval and, if the difference is significant, a mark: 30.00 ± 1.25 *."""
    interval = "" if score.interval is None else f" ± {format_metric_value(score.metric, score.interval.half_width)}"
    mark = f" {SIGNIFICANCE_MARK}" if test is not None and test.is_significant else ""
    return f"{format_metric_value(score.metric, score.value)}{interval}{mark}"


def column_title(metric: str) -> str:
    """Return the title of a metric, with an arrow if lower is better."""
    return f"{metric_title(metric)} ↓" if is_lower_better(metric) else metric_title(metric)


def evaluation_html(evaluation: Evaluation) -> str:
    """Return a table of the scores of all systems for a notebook, with its legend."""
    metrics = evaluation.metrics
    rows = []
    for system in evaluation.systems:
        found = [(system.score(metric), system.test(metric)) for metric in metrics]
        rows.append((system.name, ["–" if score is None else format_score(score, test) for score, test in found]))
    count = format_count(evaluation.test_set.sentences, "sentence")
    title = f"{evaluation.test_set.name}, {count}" if evaluation.test_set.name else count
    notes = [*(f"Warning: {note}" for note in evaluation.notes), *legend(evaluation)]
    return table_html(title, list(map(column_title, metrics)), rows, notes=notes)


def legend(evaluation: Evaluation, show_name: Callable[[str], str] = str) -> Iterator[str]:
    """Explain the symbols of a table of scores; `show_name` makes the baseline's name safe to display."""
    systems = evaluation.systems
    has_one_member = any(len(system.members) == 1 for system in systems)
    if evaluation.resamples and evaluation.test_set.sentences > 1 and has_one_member:
        yield f"± 95 % interval over sentences: bootstrap, {evaluation.resamples:,} resamples."
    if any(len(system.members) > 1 for system in systems):
        yield "± for a system with several members: 95 % interval of their mean, Student's t."
    if baseline := evaluation.baseline_system:
        tests = "; ".join(_test_names(evaluation, baseline))
        name, level = show_name(baseline.name), f"p < {SIGNIFICANCE_LEVEL}"
        is_marked = any(
            test.is_significant for system in systems for score in system.scores if (test := system.test(score.metric))
        )
        yield (
            f"{SIGNIFICANCE_MARK} {level} against {name}: {tests}."
            if is_marked
            else f"No difference from {name} has {level}: {tests}."
        )


def _test_names(evaluation: Evaluation, baseline: SystemResult) -> Iterator[str]:
    others = [system for system in evaluation.systems if system.name != baseline.name]
    over_members = [system for system in others if len(system.members) > 1 and len(baseline.members) > 1]
    if over_members:
        yield "Welch's t-test over members"
    paired = [system for system in others if system not in over_members]
    for test in dict.fromkeys(test.test for each in paired for member in each.members for test in member.tests):
        several = ", for every member" if any(len(system.members) > 1 for system in (*paired, baseline)) else ""
        yield f"{_TEST_NAMES[test]}{several}"


def signatures(evaluation: Evaluation) -> dict[str, str]:
    """Return the signature of each metric; it is the same for all systems."""
    found: dict[str, str] = {}
    for member in evaluation.members:
        for score in member.scores:
            found.setdefault(score.metric, score.signature)
    return found
