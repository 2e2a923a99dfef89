"""Print the results of an evaluation in the terminal, as tables at most 80 characters wide."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from dragoman.api.evaluation.direction_matrix import DirectionMatrix
from dragoman.evaluation.metrics.metadata import format_difference, format_metric_value, format_p_value
from dragoman.evaluation.results import (
    Evaluation,
    Perturbation,
    Score,
    SignificanceTest,
    SystemResult,
    column_title,
    format_score,
    legend,
    signatures,
)
from dragoman.evaluation.robustness import SHARES_NOTE
from dragoman.reporting.number_format import format_bytes, format_compact, format_count, format_duration, metric_title
from dragoman.reporting.safe_display_text import visible
from dragoman.reporting.terminal import WIDTH, bar, fit, join_sections, print_lines, text_table, wrap_paragraph

_NAME_WIDTH = 18
_MAX_TITLE, _MAX_NAME = 40, 1000  # characters
_SYSTEMS_PER_TABLE = 3
_BAR_WIDTH = 16

Row = Sequence[str | Text]


def print_evaluation(evaluation: Evaluation) -> None:
    """Print all results to stdout."""
    sections = [
        _scores(evaluation),
        _tests(evaluation),
        _members(evaluation),
        _by_length(evaluation),
        _flags(evaluation),
        _perturbations(evaluation),
        _throughput(evaluation),
        _signatures(evaluation),
    ]
    print_lines(join_sections(sections))


def print_matrix(matrix: DirectionMatrix) -> None:
    """Print a table of each system and metric, with a row for each source language."""
    first = next(iter(matrix.evaluations.values()))
    sections = [
        _matrix(matrix, system.name if len(first.systems) > 1 else "", system.name, score.metric)
        for system in first.systems
        for score in system.scores
    ]
    untrained = [Text("* not trained (zero-shot)", style="dim")] if matrix.untrained else []
    warnings = [
        line
        for direction, evaluation in matrix.evaluations.items()
        for line in _warnings(evaluation, f"{' → '.join(direction)}: ")
    ]
    print_lines(join_sections([*sections, untrained, warnings]))


def _matrix(matrix: DirectionMatrix, title: str, system: str, metric: str) -> Iterator[Text]:
    if title:
        yield Text(visible(title, _title_length()), style="bold")
    header, rows = matrix.table(system, metric)
    yield from text_table([header, *rows], left=range(len(header)))


def _scores(evaluation: Evaluation) -> Iterator[Text]:
    test_set = evaluation.test_set
    source, target = test_set.languages
    arrow = f", {source} → {target}" if source and target else ""
    name = f"{visible(test_set.name, _title_length())}: " if test_set.name else ""
    has_model = any(member.throughput for member in evaluation.members)
    beam = f", beam {evaluation.search['beam']}" if has_model and "beam" in evaluation.search else ""
    yield Text(f"{name}{format_count(test_set.sentences, 'sentence')}{arrow}{beam}", style="bold")
    yield Text()
    metrics = [score.metric for score in evaluation.systems[0].scores]
    rows: list[Row] = [["", *map(column_title, metrics)]]
    for system in evaluation.systems:
        cells = [_score(system.score(metric), system.test(metric)) for metric in metrics]
        rows.append([_name(system.name, bold=system.name == evaluation.baseline), *cells])
    yield from text_table(rows, left=range(len(metrics) + 1))
    yield from _warnings(evaluation)
    for sentence in legend(evaluation, visible):
        yield from wrap_paragraph(sentence, style="dim")


def _warnings(evaluation: Evaluation, prefix: str = "") -> Iterator[Text]:
    """Reasons to doubt the scores, next to them."""
    for note in evaluation.notes:
        yield from wrap_paragraph(visible(f"warning: {prefix}{note}", _MAX_NAME), style="bold yellow")


def _score(score: Score | None, test: SignificanceTest | None = None) -> Text:
    if score is None:
        return Text("–")
    value, space, rest = format_score(score, test).partition(" ")
    is_marked = test is not None and test.is_significant
    return Text(value, style="bold").append(f"{space}{rest}", style="yellow" if is_marked else "dim")


def _tests(evaluation: Evaluation) -> Iterator[Text]:
    """Every paired test, and Welch's tests over members."""
    metrics = list(dict.fromkeys(test.metric for member in evaluation.members for test in member.tests))
    rows: list[Row] = []
    for system in evaluation.systems:
        for member in system.members:
            found = {
                test.metric: f"{format_difference(test.metric, test.difference)} {format_p_value(test.p_value, '')}"
                for test in member.tests
            }
            if found:
                rows.append([_name(member.name), *(found.get(metric, "–") for metric in metrics)])
        welch = {test.metric: format_p_value(test.p_value, "") for test in system.tests if test.test == "welch"}
        if welch:
            rows.append([_name(f"{system.name}, Welch"), *(welch.get(metric, "–") for metric in metrics)])
    if rows:
        yield Text(f"against {visible(str(evaluation.baseline), _title_length())}: difference, p-value", style="dim")
        yield from text_table([["", *map(column_title, metrics)], *rows], left=range(len(metrics) + 1))


def _members(evaluation: Evaluation) -> Iterator[Text]:
    """Scores of the members of systems that have several, and their standard deviations."""
    several = [system for system in evaluation.systems if len(system.members) > 1]
    if not several:
        return
    metrics = [score.metric for score in several[0].scores]
    rows: list[Row] = [["members", *map(column_title, metrics)]]
    for system in several:
        for member in system.members:
            values = {score.metric: score.value for score in member.scores}
            seed = f", seed {member.seed}" if member.seed is not None else ""
            rows.append([_name(f"{member.name}{seed}"), *_values(values, metrics)])
        rows.append([_name(f"{system.name}, sd"), *_values(system.deviations, metrics)])
    yield from text_table(rows)


def _values(values: Mapping[str, float], metrics: Sequence[str]) -> list[str]:
    return [format_metric_value(name, values[name]) if name in values else "–" for name in metrics]


def _by_length(evaluation: Evaluation) -> Iterator[Text]:
    systems = [system for system in evaluation.systems if system.by_length]
    if not systems:
        return
    counts = {row.label: row.sentences for row in systems[0].by_length}
    metrics = dict.fromkeys(score.metric for row in systems[0].by_length for score in row.scores)
    for number, metric in enumerate(metrics):
        for first in range(0, len(systems), _SYSTEMS_PER_TABLE):
            if number or first:
                yield Text()
            yield from _length_table(systems[first : first + _SYSTEMS_PER_TABLE], metric, counts)


def _length_table(systems: Sequence[SystemResult], metric: str, counts: dict[str, int]) -> Iterator[Text]:
    columns = [
        {row.label: score for row in system.by_length for score in row.scores if score.metric == metric}
        for system in systems
    ]
    alone = len(systems) == 1
    largest = max((score.value for column in columns for score in column.values()), default=1.0) or 1.0
    titles: list[str | Text] = [metric_title(metric), ""] if alone else [_name(system.name) for system in systems]
    rows: list[Row] = [["source words", "sentences", *titles]]
    for label, count in counts.items():
        cells = [_score(column.get(label)) for column in columns]
        if alone and label in columns[0]:
            cells.append(Text(bar(columns[0][label].value / largest, _BAR_WIDTH), style="cyan"))
        rows.append([label, f"{count:,}", *cells])
    if not alone:
        yield Text(f"{metric_title(metric)} by length", style="dim")
    yield from text_table(rows, left=(0, *range(2, len(rows[0]))))


def _flags(evaluation: Evaluation) -> Iterator[Text]:
    for member in evaluation.members:
        if member.flags is not None:
            counts = ", ".join(f"{name} {count:,}" for name, count in member.flags.items())
            yield from wrap_paragraph(counts or "none", bullet=f"flags  {_name(member.name).plain:<{_NAME_WIDTH}}  ")


def _perturbations(evaluation: Evaluation) -> Iterator[Text]:
    members = [member for member in evaluation.members if member.perturbations]
    for number, member in enumerate(members):
        if number:
            yield Text()
        found = member.perturbations
        metrics = list(dict.fromkeys(name for each in found for name in each.drops))
        heading = fit(visible(f"perturbed, {member.name}"), 30).rstrip()
        rows: list[Row] = [[heading, "texts", *(f"{metric_title(name)}, change" for name in metrics)]]
        rows += [[each.name, f"{each.changed:,}", *_drops(each, metrics)] for each in found if not each.shares]
        yield from text_table(rows)
        for each in found:
            if each.shares:
                shares = ", ".join(f"{100 * share:.1f} % {name}" for name, share in each.shares.items())
                yield Text(f"{each.name}, {each.changed:,} texts: {shares}")
    if members:
        yield from wrap_paragraph(SHARES_NOTE, style="dim")


def _drops(each: Perturbation, metrics: Sequence[str]) -> Iterator[Text]:
    values = {score.metric: score.value for score in each.scores}
    for name in metrics:
        if name not in values:
            yield Text("–")
            continue
        drop = each.drops[name]
        yield Text(format_metric_value(name, values[name])).append(
            f"  {format_difference(name, -drop):>6}", style="yellow" if drop > 0 else "dim"
        )


def _throughput(evaluation: Evaluation) -> Iterator[Text]:
    rows: list[Row] = [["speed", "sentences/s", "words/s", "CPU", "peak memory", "parameters"]]
    engines: dict[str, list[str]] = {}
    for member in evaluation.members:
        if (found := member.throughput) is None:
            continue
        engines.setdefault(found.engine, []).append(member.name)
        rows.append(
            [
                _name(member.name),
                f"{found.sentences_per_second:,.1f}",
                format_compact(found.words_per_second),
                format_duration(found.cpu_seconds),
                format_bytes(found.peak_bytes) if found.peak_bytes else "–",
                "–" if member.parameters is None else format_compact(member.parameters),
            ]
        )
    if not engines:
        return
    yield from text_table(rows)
    for engine, names in engines.items():
        prefix = "" if len(engines) == 1 else f"{', '.join(names)}: "
        yield from wrap_paragraph(f"{prefix}{engine}", style="dim")


def _signatures(evaluation: Evaluation) -> Iterator[Text]:
    for name, signature in signatures(evaluation).items():
        line, indent = "", f"{metric_title(name):<8}"
        for part in signature.split("|"):
            if line and cell_len(indent + line) + 1 + cell_len(part) > WIDTH - 1:
                yield Text(f"{indent}{line}|", style="dim")
                line, indent = "", " " * 8
            line = f"{line}|{part}" if line else part
        yield Text(indent + line, style="dim")


def _title_length() -> int:
    return _MAX_TITLE if sys.stdout.isatty() else _MAX_NAME


def _name(name: str, *, bold: bool = False) -> Text:
    """Return a name, truncated on a terminal only: programs read the output of a pipe."""
    shown = fit(visible(name), _NAME_WIDTH).rstrip() if sys.stdout.isatty() else visible(name, _MAX_NAME)
    return Text(shown, style="bold" if bold else "")
