"""An evaluation on a terminal of 80 columns, or as plain text where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dragoman.cli.screen_lines import WIDTH, bar, parted, print_lines, wrapped
from dragoman.data.check.figures import brief, counted, duration, size
from dragoman.data.check.visible import visible
from dragoman.evaluation.figures import (
    LOWER_IS_BETTER,
    Figure,
    baseline_of,
    digits,
    figures,
    legend,
    lengths,
    range_of,
    signatures,
    title,
)
from dragoman.evaluation.probes import SHARES_MEAN
from dragoman.evaluation.report import Evaluation, Probe, SystemScores

__all__ = ["print_evaluation"]

_GAP = "  "
_NAME = 18
_COLUMNS = 3  # systems that stand beside each other
_BAR = 16

Row = Sequence[str | Text]


def print_evaluation(evaluation: Evaluation) -> None:
    """Print to stdout all that was asked for."""
    sections = [
        _scores(evaluation),
        _differences(evaluation),
        _members(evaluation),
        _lengths(evaluation),
        _flags(evaluation),
        _probes(evaluation),
        _speed(evaluation),
        _signatures(evaluation),
    ]
    print_lines(parted(sections))


def _scores(evaluation: Evaluation) -> Iterator[Text]:
    source, target = evaluation.languages
    arrow = f", {source} → {target}" if source and target else ""
    test = f"{visible(evaluation.test, 40)}: " if evaluation.test else ""
    yield Text(f"{test}{counted(evaluation.sentences, 'sentence')}{arrow}", style="bold")
    yield Text()
    names, baseline = [figure.metric for figure in figures(evaluation.systems[0])], baseline_of(evaluation)
    rows: list[Row] = [["", *map(_headed, names)]]
    for system in evaluation.systems:
        found = {figure.metric: figure for figure in figures(system, baseline)}
        cells = [_score(found[name]) if name in found else Text("–") for name in names]
        rows.append([_name(system.name, bold=system.name == evaluation.baseline), *cells])
    yield from _table(rows, left=(0, *range(1, len(names) + 1)))
    for sentence in legend(evaluation, visible):
        yield from wrapped(sentence, style="dim")


def _headed(metric: str) -> str:
    return f"{title(metric)} ↓" if metric in LOWER_IS_BETTER else title(metric)


def _score(figure: Figure) -> Text:
    whole = str(figure)
    value, _, rest = whole.partition(" ")
    return Text(value, style="bold").append(f" {rest}" if rest else "", style="yellow" if figure.is_marked else "dim")


def _differences(evaluation: Evaluation) -> Iterator[Text]:
    """Every paired test, and those over seeds."""
    rows: list[Row] = []
    metrics: dict[str, None] = {}
    for system in evaluation.systems:
        for member in system.members:
            for result in member.against_baseline:
                metrics[result.metric] = None
    for system in evaluation.systems:
        for member in system.members:
            found = {
                each.metric: f"{_signed(each.difference, each.metric)} {_p(each.p_value)}"
                for each in member.against_baseline
            }
            if found:
                rows.append([_name(member.name), *(found.get(metric, "–") for metric in metrics)])
        if system.seeds_differ:
            welch = [_p(system.seeds_differ[name]) if name in system.seeds_differ else "–" for name in metrics]
            rows.append([_name(f"{system.name}, Welch"), *welch])
    if rows:
        heading = Text(f"against {visible(str(evaluation.baseline), 40)}: difference, p-value", style="dim")
        yield heading
        yield from _table([["", *map(_headed, metrics)], *rows], left=(0, *range(1, len(metrics) + 1)))


def _members(evaluation: Evaluation) -> Iterator[Text]:
    """The scores of systems that have several members, one by one."""
    several = [system for system in evaluation.systems if len(system.members) > 1]
    if not several:
        return
    names = [spread.metric for spread in several[0].spreads]
    rows: list[Row] = [["members", *map(_headed, names)]]
    for system in several:
        for member in system.members:
            found = {score.name: f"{score.value:.{digits(score.name)}f}" for score in member.scores}
            seed = f", seed {member.seed}" if member.seed is not None else ""
            rows.append([_name(f"{member.name}{seed}"), *(found.get(name, "–") for name in names)])
        sds = {each.metric: each.deviation for each in system.spreads}
        shown = ["–" if sds.get(name) is None else f"{sds[name]:.{digits(name)}f}" for name in names]
        rows.append([_name(f"{system.name}, sd"), *shown])
    yield from _table(rows)


def _lengths(evaluation: Evaluation) -> Iterator[Text]:
    systems = [system for system in evaluation.systems if any(member.by_length for member in system.members)]
    if not systems:
        return
    counts = {range_of(row): row.sentences for row in systems[0].members[0].by_length}
    metrics = dict.fromkeys(score.name for row in systems[0].members[0].by_length for score in row.scores)
    for number, metric in enumerate(metrics):
        for first in range(0, len(systems), _COLUMNS):
            if number or first:
                yield Text()
            yield from _length_table(systems[first : first + _COLUMNS], metric, counts)


def _length_table(systems: Sequence[SystemScores], metric: str, counts: dict[str, int]) -> Iterator[Text]:
    columns = [lengths(system, metric) for system in systems]
    alone = len(systems) == 1
    most = max((figure.value for column in columns for figure in column.values()), default=1.0) or 1.0
    rows: list[Row] = [
        ["source words", "sentences", *([title(metric), ""] if alone else [_name(s.name) for s in systems])]
    ]
    for name, count in counts.items():
        cells: list[str | Text] = [_score(column[name]) if name in column else Text("–") for column in columns]
        if alone and name in columns[0]:
            cells.append(Text(bar(columns[0][name].value / most, _BAR), style="cyan"))
        rows.append([name, f"{count:,}", *cells])
    if not alone:
        yield Text(f"{title(metric)} by length", style="dim")
    yield from _table(rows, left=(0, *range(2, len(rows[0]))))


def _flags(evaluation: Evaluation) -> Iterator[Text]:
    for system in evaluation.systems:
        for member in system.members:
            if member.flags is not None:
                counts = ", ".join(f"{name} {count:,}" for name, count in member.flags.items())
                yield from wrapped(counts or "none", bullet=f"flags  {_fit(visible(member.name), _NAME)}{_GAP}")


def _probes(evaluation: Evaluation) -> Iterator[Text]:
    members = [member for system in evaluation.systems for member in system.members if member.probes]
    for number, member in enumerate(members):
        if number:
            yield Text()
        metrics = list(dict.fromkeys(name for probe in member.probes for name in probe.drops))
        heading = _fit(visible(f"probes of {member.name}"), 30).rstrip()
        rows: list[Row] = [[heading, "texts", *(f"{title(name)}, change" for name in metrics)]]
        rows += [[each.name, f"{each.changed:,}", *_lost(each, metrics)] for each in member.probes if not each.shares]
        yield from _table(rows)
        for probe in member.probes:
            if probe.shares:
                shares = ", ".join(f"{100 * share:.1f} % {name}" for name, share in probe.shares.items())
                yield Text(f"{probe.name}, {probe.changed:,} alone: {shares}")
    if members:
        yield from wrapped(SHARES_MEAN, style="dim")


def _lost(probe: Probe, metrics: Sequence[str]) -> Iterator[Text]:
    values = {score.name: score.value for score in probe.scores}
    for name in metrics:
        if name not in values:
            yield Text("–")
            continue
        drop = probe.drops[name]
        yield Text(f"{values[name]:.{digits(name)}f}").append(
            f"  {_signed(-drop, name):>6}", style="yellow" if drop > 0 else "dim"
        )


def _speed(evaluation: Evaluation) -> Iterator[Text]:
    members = [member for system in evaluation.systems for member in system.members if member.speed]
    if not members:
        return
    rows: list[Row] = [["speed", "sentences/s", "words/s", "CPU", "peak memory", "parameters"]]
    engines: dict[str, list[str]] = {}
    for member in members:
        assert member.speed is not None
        speed, count = member.speed, member.parameters
        engines.setdefault(speed.engine, []).append(member.name)
        rates = f"{speed.sentences / speed.seconds:,.1f}", brief(speed.source_words / speed.seconds)
        rows.append(
            [
                _name(member.name),
                *rates,
                duration(speed.cpu_seconds),
                size(speed.peak_bytes) if speed.peak_bytes else "–",
                "–" if count is None else brief(count),
            ]
        )
    yield from _table(rows)
    for engine, names in engines.items():
        who = "" if len(engines) == 1 else f"{', '.join(names)}: "
        yield from wrapped(f"{who}{engine}", style="dim")


def _signatures(evaluation: Evaluation) -> Iterator[Text]:
    for name, signature in signatures(evaluation).items():
        line, indent = "", f"{title(name):<8}"
        for part in signature.split("|"):
            if line and cell_len(indent + line) + 1 + cell_len(part) > WIDTH - 1:
                yield Text(f"{indent}{line}|", style="dim")
                line, indent = "", " " * 8
            line = f"{line}|{part}" if line else part
        yield Text(indent + line, style="dim")


def _p(value: float) -> str:
    return "p<0.001" if value < 0.001 else f"p={value:.3f}"


def _signed(value: float, metric: str) -> str:
    return f"{value:+.{digits(metric)}f}".replace("-", "−")


def _name(name: str, *, bold: bool = False) -> Text:
    return Text(_fit(visible(name), _NAME).rstrip(), style="bold" if bold else "")


def _fit(text: str, width: int) -> str:
    """The text in exactly so many columns; of a long name the end says more than the middle."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return set_cell_size(text, width)


def _table(rows: Sequence[Row], *, left: Sequence[int] = (0,)) -> Iterator[Text]:
    """Columns as wide as they need to be; the first row is the head."""
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = [max(row[column].cell_len for row in cells if column < len(row)) for column in range(max(map(len, cells)))]
    for number, row in enumerate(cells):
        line = Text(style="dim" if number == 0 else "")
        for column, cell in enumerate(row):
            space = " " * (widths[column] - cell.cell_len)
            parts = (cell, Text(space)) if column in left else (Text(space), cell)
            line.append(_GAP if column else "").append_text(parts[0]).append_text(parts[1])
        yield line
