"""Write Markdown tables, such as an evaluation with metric signatures."""

from collections.abc import Iterator, Sequence

from dragoman.evaluation.results import (
    Evaluation,
    SystemResult,
    column_title,
    format_difference,
    format_metric_value,
    format_p_value,
    format_score,
    legend,
    signatures,
)
from dragoman.evaluation.robustness import SHARES_NOTE
from dragoman.reporting.number_format import format_count, metric_title


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return a table whose columns are aligned at the right, except those whose numbers are in `left`."""
    rule = ["---" if number in left else "--:" for number in range(len(header))]
    return "".join("| " + " | ".join(row) + " |\n" for row in (header, rule, *rows))


def escape_markdown(text: str) -> str:
    r"""Escape every character with a meaning in Markdown, and ``|``, which would end a cell; join lines."""
    line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\|*_`<>[]#" else character for character in line)


def evaluation_markdown(evaluation: Evaluation) -> str:
    """Return tables and notes; parts that were not evaluated are omitted."""
    parts = [
        _scores(evaluation),
        _tests(evaluation),
        _members(evaluation),
        _by_length(evaluation),
        _perturbations(evaluation),
        _flags(evaluation),
        _throughput(evaluation),
        _notes(evaluation),
    ]
    return "\n".join(part for part in parts if part)


def _scores(evaluation: Evaluation) -> str:
    metrics = [score.metric for score in evaluation.systems[0].scores]
    rows = []
    for system in evaluation.systems:
        cells = (
            "–" if (score := system.score(metric)) is None else format_score(score, system.test(metric))
            for metric in metrics
        )
        rows.append([_name(system, evaluation), *cells])
    table = markdown_table(["system", *map(column_title, metrics)], rows)
    warnings = [f"**Warning: {escape_markdown(note)}**\n" for note in evaluation.notes]
    notes = " ".join(legend(evaluation, escape_markdown))
    return "\n".join([table, *warnings, *([f"{notes}\n"] if notes else [])])


def _tests(evaluation: Evaluation) -> str:
    """Every paired test, and Welch's tests over members."""
    rows = []
    for system in evaluation.systems:
        for member in system.members:
            cells = {
                test.metric: f"{format_difference(test.metric, test.difference)} {format_p_value(test.p_value, '')}"
                for test in member.tests
            }
            rows.append((member.name, cells))
        welch = {test.metric: format_p_value(test.p_value, "") for test in system.tests if test.test == "welch"}
        rows.append((f"{system.name}, Welch", welch))
    metrics = list(dict.fromkeys(metric for _, cells in rows for metric in cells))
    found = [[escape_markdown(name), *(cells.get(each, "–") for each in metrics)] for name, cells in rows if cells]
    header = [f"difference from {escape_markdown(str(evaluation.baseline))}, p", *map(column_title, metrics)]
    return markdown_table(header, found) if found else ""


def _members(evaluation: Evaluation) -> str:
    """Scores of the members of systems that have several, and their standard deviations."""
    rows = []
    for system in (each for each in evaluation.systems if len(each.members) > 1):
        for member in system.members:
            seed = "" if member.seed is None else f", seed {member.seed}"
            rows.append((f"{member.name}{seed}", {score.metric: score.value for score in member.scores}))
        rows.append((f"{system.name}, sd", dict(system.deviations)))
    metrics = evaluation.metrics
    found = [
        [escape_markdown(name), *(format_metric_value(each, found[each]) if each in found else "–" for each in metrics)]
        for name, found in rows
    ]
    return markdown_table(["members", *map(column_title, metrics)], found) if found else ""


def _by_length(evaluation: Evaluation) -> str:
    rows = [row for system in evaluation.systems for row in system.by_length]
    labels = dict.fromkeys(row.label for row in rows)
    parts = []
    for metric in dict.fromkeys(score.metric for row in rows for score in row.scores):
        columns = [
            {
                row.label: format_score(score)
                for row in system.by_length
                for score in row.scores
                if score.metric == metric
            }
            for system in evaluation.systems
        ]
        header = [
            f"{metric_title(metric)} by words of the source",
            *(escape_markdown(system.name) for system in evaluation.systems),
        ]
        cells = [[label, *(column.get(label, "–") for column in columns)] for label in labels]
        parts.append(markdown_table(header, [row for row in cells if any(cell != "–" for cell in row[1:])]))
    return "\n".join(parts)


def _perturbations(evaluation: Evaluation) -> str:
    rows = []
    for member in evaluation.members:
        for each in member.perturbations:
            changes = [f"{metric_title(name)} {format_difference(name, -drop)}" for name, drop in each.drops.items()]
            shares = [f"{100 * share:.1f} % {name}" for name, share in each.shares.items()]
            rows.append(
                [escape_markdown(member.name), each.name, f"{each.changed:,}", ", ".join([*changes, *shares]) or "–"]
            )
    if not rows:
        return ""
    table = markdown_table(["system", "perturbation", "texts", "change"], rows, left=(0, 1, 3))
    return f"{table}\n{SHARES_NOTE}\n"


def _flags(evaluation: Evaluation) -> str:
    flagged = {system.name: _mean_flags(system) for system in evaluation.systems}
    names = dict.fromkeys(name for counts in flagged.values() for name in counts or ())
    if not names:
        return ""
    rows = [
        [name, *("–" if counts is None else f"{counts.get(name, 0):g}" for counts in flagged.values())]
        for name in names
    ]
    return markdown_table([f"flagged, of {evaluation.test_set.sentences:,}", *map(escape_markdown, flagged)], rows)


def _mean_flags(system: SystemResult) -> dict[str, float] | None:
    known = [member.flags for member in system.members if member.flags is not None]
    names = dict.fromkeys(name for counts in known for name in counts)
    if not known:
        return None
    return {name: round(sum(counts.get(name, 0) for counts in known) / len(known), 1) for name in names}


def _throughput(evaluation: Evaluation) -> str:
    rows = [
        [
            escape_markdown(member.name),
            f"{found.sentences_per_second:,.1f}",
            f"{found.words_per_second:,.0f}",
            f"{found.cpu_seconds:,.1f}",
            f"{found.peak_bytes / 2**20:,.0f}",
            "–" if member.parameters is None else f"{member.parameters:,}",
        ]
        for member in evaluation.members
        if (found := member.throughput)
    ]
    header = ["system", "sentences/s", "words/s", "CPU s", "peak MiB", "parameters"]
    return markdown_table(header, rows) if rows else ""


def _notes(evaluation: Evaluation) -> str:
    test_set = evaluation.test_set
    lines = [f"- {metric_title(name)}: `{signature}`" for name, signature in signatures(evaluation).items()]
    name = f"{escape_markdown(test_set.name)}, " if test_set.name else ""
    source, target = test_set.languages
    arrow = f"{source} → {target}, " if source and target else ""
    digests = f"SHA-256 {test_set.source_digest[:12]} and {test_set.reference_digest[:12]}"
    lines.append(f"- Test set: {name}{format_count(test_set.sentences, 'sentence')}, {arrow}{digests}")
    engines: dict[str, list[str]] = {}
    for member in evaluation.members:
        if member.throughput:
            engines.setdefault(member.throughput.engine, []).append(escape_markdown(member.name))
    lines += [f"- Engine of {', '.join(names)}: {engine}" for engine, names in engines.items()]
    if engines:
        lines.append(f"- Search: {', '.join(_search(evaluation))}")
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    return "\n".join([*lines, f"- Versions: {versions}", f"- Machine: {escape_markdown(evaluation.machine)}", ""])


def _search(evaluation: Evaluation) -> Iterator[str]:
    search = evaluation.search
    if search.get("search") == "mbr":
        yield f"MBR by chrF, {search.get('candidates')} samples, seed {search.get('seed')}"
        return
    yield "sampling" if search.get("sample") else f"beam {search.get('beam')}"
    yield f"length penalty {search.get('length_penalty')}, alpha {search.get('alpha')}"


def _name(system: SystemResult, evaluation: Evaluation) -> str:
    several = f" ({len(system.members)} members)" if len(system.members) > 1 else ""
    return f"{escape_markdown(system.name)}{several}{' (baseline)' if system.name == evaluation.baseline else ''}"
