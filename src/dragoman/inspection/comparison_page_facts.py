"""The facts of a comparison: settings that differ, what each system costs, and all that is needed to do it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dragoman.data.check.figures import brief, counted, duration, size
from dragoman.data.check.markup import plain, shown, table
from dragoman.inspection.comparison import Compared, Comparison
from dragoman.inspection.comparison_findings import SettingRow, metric_name, setting_rows

__all__ = ["costs", "repeat", "settings"]

_LONGEST = 1000
_CONFIG = 200_000
_NONE = '<span class="soft">–</span>'
_WORDS = ("engine", "flagged", "ended", "best in validation")

Column = Callable[[Compared], str]


def settings(comparison: Comparison) -> str:
    """The settings that differ; all others are folded away."""
    rows = setting_rows(comparison)
    if not rows:
        return ""
    names = [system.name for system in comparison.systems if any(member.settings for member in system.members)]
    differ, same = ([row for row in rows if row.differs is each] for each in (True, False))
    missing = [system.name for system in comparison.systems if system.name not in names]
    told = (
        f" No configuration is known of {', '.join(f'<bdi>{shown(name)}</bdi>' for name in missing)}."
        if missing
        else ""
    )
    drawn = f'<p class="soft">No setting differs.{told}</p>'
    if differ:
        caption = f"Settings that are not the same everywhere; – is a setting that a system does not have.{told}"
        drawn = _settings(caption, names, differ)
    if same and len(names) > 1:
        drawn += f"<details><summary>{counted(len(same), 'setting')} that are the same everywhere</summary>"
        drawn += _settings("Settings that are the same everywhere.", ["value"], same) + "</details>"
    elif same:
        drawn = _settings(f"Its settings.{told}", names, same)
    return f'<div class="card">{drawn}</div>'


def _settings(caption: str, names: Sequence[str], rows: Iterable[SettingRow]) -> str:
    head = ["setting", *(f"<bdi>{shown(name)}</bdi>" for name in names)]
    cells = [
        [
            f"<code>{shown(row.name)}</code>",
            *(
                _NONE if value == "–" else f"<code>{shown(value, _LONGEST)}</code>"
                for value in row.values[: len(names)]
            ),
        ]
        for row in rows
    ]
    return table(caption, head, cells, classes=["", *["setting"] * len(names)])


def costs(comparison: Comparison) -> str:
    """A row a member: its size and what translating took; and what its training took."""
    translating: dict[str, Column] = {
        "parameters": _parameters,
        "on disk": lambda member: _NONE if member.size_bytes is None else size(member.size_bytes),
        "sentences a second": lambda member: f"{member.speed.sentences_per_second:,.1f}" if member.speed else _NONE,
        "words a second": lambda member: f"{member.speed.words_per_second:,.0f}" if member.speed else _NONE,
        "time": lambda member: duration(member.speed.seconds) if member.speed else _NONE,
        "processor": lambda member: duration(member.speed.cpu_seconds) if member.speed else _NONE,
        "most memory": lambda member: size(member.speed.peak_bytes) if member.speed else _NONE,
        "engine": lambda member: shown(member.speed.engine, 60) if member.speed else _NONE,
        "flagged": _flags,
    }
    training: dict[str, Column] = {
        "time": lambda member: duration(member.training.seconds) if member.training else _NONE,
        "updates": lambda member: f"{member.training.updates:,}" if member.training else _NONE,
        "target pieces": lambda member: brief(member.training.tokens) if member.training else _NONE,
        "pieces a second": _training_speed,
        "pairs": _pairs,
        "ended": lambda member: shown(member.training.ended, 60) if member.training else _NONE,
        "best in validation": lambda member: shown(member.training.best, 120) if member.training else _NONE,
    }
    drawn = _facts_table(
        comparison,
        "Size, and what translating the test set took; memory is the most that the whole process had meanwhile, what "
        f"it held before among it. Flags are faults that can be seen without a reference.{_engines(comparison)}",
        translating,
    )
    drawn += _facts_table(comparison, "Training. Compare times of one machine only.", training)
    return f'<div class="card">{drawn}</div>' if drawn else ""


def _facts_table(comparison: Comparison, caption: str, columns: Mapping[str, Column]) -> str:
    """Those columns of which anything is known."""
    members = _members(comparison)
    drawn = {name: [column(member) for member in members] for name, column in columns.items()}
    known = {name: cells for name, cells in drawn.items() if any(cell != _NONE for cell in cells)}
    if not known:
        return ""
    rows = [
        [f"<bdi>{shown(member.name)}</bdi>", *(cells[place] for cells in known.values())]
        for place, member in enumerate(members)
    ]
    classes = ["", *("words" if name in _WORDS else "number" for name in known)]
    return table(caption, ["member", *known], rows, classes=classes)


def _members(comparison: Comparison) -> list[Compared]:
    return [member for system in comparison.systems for member in system.members]


def _engines(comparison: Comparison) -> str:
    """A remark where speeds were measured with different engines; why each was taken stands in brackets behind it."""
    engines = {member.speed.engine.partition(" (")[0] for member in _members(comparison) if member.speed}
    if len(engines) < 2:
        return ""
    return " The engines differ: compare speed and memory only where the engine is the same (--engine chooses one)."


def _parameters(member: Compared) -> str:
    return (
        _NONE if member.parameters is None else f'<span title="{member.parameters:,}">{brief(member.parameters)}</span>'
    )


def _training_speed(member: Compared) -> str:
    speed = member.training.tokens_per_second if member.training else None
    return _NONE if speed is None else f"{speed:,.0f}"


def _pairs(member: Compared) -> str:
    pairs = member.training.pairs.get("train") if member.training else None
    return _NONE if pairs is None else f"{pairs:,}"


def _flags(member: Compared) -> str:
    if member.flags is None:
        return _NONE
    return ", ".join(f"{shown(name, 40)} {count:,}" for name, count in member.flags.items() if count) or "nothing"


def repeat(comparison: Comparison) -> str:
    """The command, what it ran on, what tells the files apart, and the whole configurations."""
    command = f'<h3>Command</h3><pre class="command"><code>{shown(comparison.command, 4000)}</code></pre>'
    parts = [command] if comparison.command else []
    parts += [_facts(comparison), _digests(comparison), _origins(comparison), _signatures(comparison)]
    configs = "".join(map(_config, _members(comparison)))
    return f'<div class="card">{"".join(part for part in parts if part)}</div>\n' + (
        f'<div class="card">{configs}</div>' if configs else ""
    )


def _facts(comparison: Comparison) -> str:
    rows = [["machine", shown(comparison.machine, _LONGEST)], ["versions", _listed(comparison.versions)]]
    if test := comparison.test:
        rows.append(["test set", f"<bdi>{shown(test.name)}</bdi>, {counted(test.sentences, 'sentence')}"])
        rows.append(["SHA-256 of the source", _code(test.source_digest)])
        rows.append(["SHA-256 of the reference", _code(test.reference_digest)])
        rows.append(
            ["search", _listed({name.replace("_", " "): _worded(value) for name, value in test.search.items()})]
        )
    return table("The report was made with:", ["what", "value"], rows)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{shown(name, 60)} {shown(str(value), 120)}" for name, value in values.items()) or _NONE


def _worded(value: object) -> object:
    """A setting as people say it."""
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _code(text: str) -> str:
    return f"<code>{shown(text, 120)}</code>" if text else _NONE


def _digests(comparison: Comparison) -> str:
    rows = [
        [
            f"<bdi>{shown(member.name)}</bdi>",
            member.kind,
            "–" if member.seed is None else str(member.seed),
            _code(member.digest),
            _trained_with(member),
        ]
        for member in _members(comparison)
    ]
    head = ["member", "kind", "seed", "SHA-256", "trained with"]
    return table("Members, and what tells them from any other.", head, rows)


def _origins(comparison: Comparison) -> str:
    """What runs learnt from, and by which configuration, with the paths of its machine; only where a run says so."""
    rows = [
        [f"<bdi>{shown(member.name)}</bdi>", _code(known.data_fingerprint), _code(known.config_digest)]
        for member in _members(comparison)
        if (known := member.training) and (known.data_fingerprint or known.config_digest)
    ]
    head = ["member", "fingerprint of the training data", "SHA-256 of its dragoman.toml"]
    return table("Runs, and what they were trained on.", head, rows) if rows else ""


def _trained_with(member: Compared) -> str:
    training = member.training
    if training is None:
        return _NONE
    return f"{_listed(training.versions)}<br><span class='soft'>{shown(training.machine, _LONGEST)}</span>"


def _signatures(comparison: Comparison) -> str:
    """How each score was computed, once."""
    found = dict.fromkeys(
        (score.metric, score.signature) for system in comparison.systems for score in system.scores if score.signature
    )
    tests = dict.fromkeys(
        (f"{metric_name(score.metric)}, difference", f"{score.versus.test}: {score.versus.signature}".rstrip(": "))
        for system in comparison.systems
        for score in system.scores
        if score.versus
    )
    rows = [[shown(metric_name(metric), 40), _code(words)] for metric, words in (*found, *tests)]
    return table("How figures were computed.", ["figure", "signature"], rows) if rows else ""


def _config(member: Compared) -> str:
    if not member.config:
        return ""
    name = member.name
    # Line by line: what a line cannot show is spelt out, and the line stays one.
    lines = "\n".join(shown(line, _LONGEST) for line in member.config[:_CONFIG].splitlines())
    label = plain(f"configuration of {name}")
    return (
        f"<details><summary>The whole configuration of <bdi>{shown(name)}</bdi></summary>"
        f'<pre tabindex="0" aria-label="{label}" role="group"><code>{lines}</code></pre></details>'
    )
