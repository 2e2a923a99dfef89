"""Tables of the comparison page: model size, speed, training cost, settings, metric signatures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.config.search import SearchSettings
from dragoman.evaluation.aggregate_members import describe_test
from dragoman.evaluation.results import Evaluation, MemberResult, Throughput, decimals
from dragoman.inspection.comparison.report_types import ComparisonReport, ModelDetails, TrainingSummary
from dragoman.reporting.number_format import format_bytes, format_compact, format_count, format_duration, metric_title
from dragoman.reporting.safe_display_text import visible

_TEXT_COLUMNS = ("engine", "flagged", "ended", "best in validation")
_ABSENT = "–"
_ALWAYS_SHOWN = ("beam", "length_penalty", "alpha")
_MAX_ENGINE, _MAX_BEST = 60, 120  # characters

CostTable = tuple[list[str], list[str], list[list[str | None]]]
"""Column titles, CSS classes, and rows; None is an unknown value."""

_Column = Callable[[ModelDetails, MemberResult | None], str | None]


def cost_tables(report: ComparisonReport) -> tuple[CostTable | None, CostTable | None]:
    """Return one row per member: size and throughput, and training; None if nothing is known."""
    results: list[MemberResult | None] = [None] * len(report.members)
    if report.evaluation is not None:
        results = list(report.evaluation.members)
    return _table(report, results, _TRANSLATION_COLUMNS), _table(report, results, _TRAINING_COLUMNS)


def _table(
    report: ComparisonReport, results: list[MemberResult | None], columns: Mapping[str, _Column]
) -> CostTable | None:
    """Build a table of the columns with at least one known value."""
    pairs = list(zip(report.members, results, strict=True))
    cells = {name: [column(member, result) for member, result in pairs] for name, column in columns.items()}
    known = {name: values for name, values in cells.items() if any(value is not None for value in values)}
    if not known:
        return None
    rows = [[member.name, *(values[place] for values in known.values())] for place, (member, _) in enumerate(pairs)]
    classes = ["", *("words" if name in _TEXT_COLUMNS else "number" for name in known)]
    return ["member", *known], classes, rows


def _of_throughput(read: Callable[[Throughput], str]) -> _Column:
    return lambda _, result: read(result.throughput) if result is not None and result.throughput else None


def _of_training(read: Callable[[TrainingSummary], str | None]) -> _Column:
    return lambda member, _: None if member.training is None else read(member.training)


def _flags(_: ModelDetails, result: MemberResult | None) -> str | None:
    if result is None or result.flags is None:
        return None
    return ", ".join(f"{visible(name, 40)} {count:,}" for name, count in result.flags.items() if count) or "none"


_TRANSLATION_COLUMNS: dict[str, _Column] = {
    "parameters": lambda member, _: None if member.parameters is None else format_compact(member.parameters),
    "on disk": lambda member, _: None if member.size_bytes is None else format_bytes(member.size_bytes),
    "sentences per second": _of_throughput(lambda found: f"{found.sentences_per_second:,.1f}"),
    "words per second": _of_throughput(lambda found: f"{found.words_per_second:,.0f}"),
    "time": _of_throughput(lambda found: format_duration(found.seconds)),
    "CPU time": _of_throughput(lambda found: format_duration(found.cpu_seconds)),
    "peak memory": _of_throughput(lambda found: format_bytes(found.peak_bytes)),
    "engine": _of_throughput(lambda found: visible(found.engine, _MAX_ENGINE)),
    "flagged": _flags,
}
_TRAINING_COLUMNS: dict[str, _Column] = {
    "time": _of_training(lambda training: format_duration(training.seconds)),
    "updates": _of_training(lambda training: f"{training.updates:,}"),
    "target tokens": _of_training(lambda training: format_compact(training.tokens)),
    "tokens per second": _of_training(
        lambda training: None if training.tokens_per_second is None else f"{training.tokens_per_second:,.0f}"
    ),
    "pairs": _of_training(lambda training: f"{training.pairs['train']:,}" if "train" in training.pairs else None),
    "ended": _of_training(lambda training: visible(training.ended, _MAX_ENGINE)),
    "best in validation": _of_training(lambda training: visible(format_best(training), _MAX_BEST)),
}


def format_best(training: TrainingSummary) -> str:
    """Format the best validation: BLEU 31.20, loss 1.67; after 400 updates."""
    if training.best_update is None:
        return ""
    scores = ", ".join(f"{metric_title(name)} {value:.{decimals(name)}f}" for name, value in training.best.items())
    return f"{scores}; after {format_count(training.best_update, 'update')}"


def engines_differ(evaluation: Evaluation | None) -> bool:
    """Whether throughput was measured with different engines; the reason for an engine follows it in brackets."""
    members = () if evaluation is None else evaluation.members
    return len({member.throughput.engine.partition(" (")[0] for member in members if member.throughput}) > 1


def notable_search_settings(search: Mapping[str, Any]) -> dict[str, str]:
    """Return the search settings that are not defaults, and the most important ones."""
    defaults = SearchSettings().model_dump()
    shown = {name: value for name, value in search.items() if name in _ALWAYS_SHOWN or value != defaults.get(name)}
    words = {None: "none", True: "yes", False: "no"}
    return {
        name.replace("_", " "): words[value] if value is None or isinstance(value, bool) else str(value)
        for name, value in shown.items()
    }


def score_signatures(evaluation: Evaluation | None) -> list[tuple[str, str]]:
    """Return the signature of every score and of every test, each once."""
    if evaluation is None:
        return []
    scores = dict.fromkeys(
        (metric_title(score.metric), score.signature)
        for system in evaluation.systems
        for score in system.scores
        if score.signature
    )
    tests = dict.fromkeys(
        (
            f"{metric_title(test.metric)}, difference",
            f"{describe_test(test, system, evaluation.baseline_system)}: {test.signature}".rstrip(": "),
        )
        for system in evaluation.systems
        for test in system.tests
    )
    return [*scores, *tests]


@dataclass(frozen=True)
class SettingRow:
    """A setting and its value in each system; different values of members are joined by commas."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the systems have different values."""
        return len(set(self.values)) > 1


def compare_settings(report: ComparisonReport) -> list[SettingRow]:
    """Return every setting of every system with a configuration, in the order of the configurations."""
    systems = [members for members in report.models.values() if any(member.settings for member in members)]
    names = dict.fromkeys(name for members in systems for member in members for name in member.settings)
    return [
        SettingRow(
            name,
            tuple(
                ", ".join(dict.fromkeys(member.settings.get(name, _ABSENT) for member in members if member.settings))
                for members in systems
            ),
        )
        for name in _by_table(list(names))
    ]


def _by_table(names: Sequence[str]) -> list[str]:
    """Group settings by table, with the tables in order of first occurrence."""
    tables = dict.fromkeys(name.rpartition(".")[0] for name in names)
    tops = dict.fromkeys(table.partition(".")[0] for table in tables)
    ordered = [table for top in tops for table in tables if table.partition(".")[0] == top]
    return [name for table in ordered for name in names if name.rpartition(".")[0] == table]
