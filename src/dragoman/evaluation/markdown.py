"""An evaluation as Markdown: a table that is ready to be pasted, with signatures below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.data.check.figures import counted
from dragoman.evaluation.figures import LOWER_IS_BETTER, baseline_of, figures, legend, lengths, signatures, title
from dragoman.evaluation.probes import SHARES_MEAN
from dragoman.evaluation.report import Evaluation, SystemScores

__all__ = ["markdown"]


def markdown(evaluation: Evaluation) -> str:
    """Tables and notes; those parts that were not asked for are left out."""
    parts = [_scores(evaluation), _lengths(evaluation), _probes(evaluation), _flags(evaluation), _speed(evaluation)]
    return "\n".join(part for part in (*parts, _notes(evaluation)) if part)


def _scores(evaluation: Evaluation) -> str:
    names, baseline = [figure.metric for figure in figures(evaluation.systems[0])], baseline_of(evaluation)
    head = ["system", *(f"{title(name)} ↓" if name in LOWER_IS_BETTER else title(name) for name in names)]
    rows = []
    for system in evaluation.systems:
        found = {figure.metric: str(figure) for figure in figures(system, baseline)}
        rows.append([_name(system, evaluation), *(found.get(name, "–") for name in names)])
    text = _table(head, rows)
    said = " ".join(legend(evaluation, _plain))
    return f"{text}\n{said}\n" if said else text


def _lengths(evaluation: Evaluation) -> str:
    metrics = dict.fromkeys(
        score.name
        for system in evaluation.systems
        for member in system.members
        for row in member.by_length
        for score in row.scores
    )
    parts = []
    for metric in metrics:
        columns = [lengths(system, metric) for system in evaluation.systems]
        ranges = dict.fromkeys(name for column in columns for name in column)
        rows = [[name, *(str(column[name]) if name in column else "–" for column in columns)] for name in ranges]
        head = [f"{title(metric)} by words of the source", *(_plain(system.name) for system in evaluation.systems)]
        parts.append(_table(head, rows))
    return "\n".join(parts)


def _probes(evaluation: Evaluation) -> str:
    rows = []
    for system in evaluation.systems:
        for member in system.members:
            for probe in member.probes:
                changes = [f"{title(name)} {-drop:+.2f}".replace("-", "−") for name, drop in probe.drops.items()]
                shares = [f"{100 * share:.1f} % {name}" for name, share in probe.shares.items()]
                found = ", ".join([*changes, *shares]) or "–"
                rows.append([_plain(member.name), probe.name, f"{probe.changed:,}", found])
    if not rows:
        return ""
    return f"{_table(['system', 'probe', 'texts', 'change'], rows)}\n{SHARES_MEAN}\n"


def _flags(evaluation: Evaluation) -> str:
    flagged = {system.name: _mean_flags(system) for system in evaluation.systems}
    names = dict.fromkeys(name for counts in flagged.values() for name in counts or ())
    if not names:
        return ""
    rows = [
        [name, *("–" if counts is None else f"{counts.get(name, 0):g}" for counts in flagged.values())]
        for name in names
    ]
    return _table([f"flagged, of {evaluation.sentences:,}", *map(_plain, flagged)], rows)


def _mean_flags(system: SystemScores) -> dict[str, float] | None:
    counted = [member.flags for member in system.members if member.flags is not None]
    names = dict.fromkeys(name for counts in counted for name in counts)
    if not counted:
        return None
    return {name: round(sum(counts.get(name, 0) for counts in counted) / len(counted), 1) for name in names}


def _speed(evaluation: Evaluation) -> str:
    rows = []
    for system in evaluation.systems:
        for member in system.members:
            if speed := member.speed:
                rate = f"{speed.sentences / speed.seconds:,.1f}", f"{speed.source_words / speed.seconds:,.0f}"
                memory = f"{speed.peak_bytes / 2**20:,.0f}"
                size = "–" if member.parameters is None else f"{member.parameters:,}"
                rows.append([_plain(member.name), *rate, f"{speed.cpu_seconds:,.1f}", memory, size, speed.engine])
    head = ["system", "sentences/s", "words/s", "CPU s", "peak MiB", "parameters", "engine"]
    return _table(head, rows) if rows else ""


def _notes(evaluation: Evaluation) -> str:
    lines = [f"- {title(name)}: `{signature}`" for name, signature in signatures(evaluation).items()]
    test = f"{_plain(evaluation.test)}, " if evaluation.test else ""
    lines.append(
        f"- Test set: {test}{counted(evaluation.sentences, 'sentence')}, {_arrow(evaluation)}{_digests(evaluation)}"
    )
    if any(member.speed for system in evaluation.systems for member in system.members):
        search = ", ".join(_search(evaluation))
        lines.append(f"- Search: {search}")
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    return "\n".join([*lines, f"- Versions: {versions}", f"- Machine: {_plain(evaluation.machine)}", ""])


def _arrow(evaluation: Evaluation) -> str:
    source, target = evaluation.languages
    return f"{source} → {target}, " if source and target else ""


def _digests(evaluation: Evaluation) -> str:
    return f"SHA-256 {evaluation.source_digest[:12]} and {evaluation.reference_digest[:12]}"


def _search(evaluation: Evaluation) -> Iterator[str]:
    search = evaluation.search
    yield "sampling" if search.get("sample") else f"beam {search.get('beam')}"
    yield f"length penalty {search.get('length_penalty')}, alpha {search.get('alpha')}"


def _name(system: SystemScores, evaluation: Evaluation) -> str:
    several = f" ({len(system.members)} members)" if len(system.members) > 1 else ""
    return f"{_plain(system.name)}{several}{' (baseline)' if system.name == evaluation.baseline else ''}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "".join("| " + " | ".join(row) + " |\n" for row in (head, rule, *rows))


def _plain(text: str) -> str:
    r"""Text that no sign of Markdown is read in; ``|`` would end a cell."""
    line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\|*_`<>[]#" else character for character in line)
