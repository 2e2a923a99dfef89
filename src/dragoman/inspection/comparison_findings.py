"""What a comparison comes to: the verdict in a sentence, and the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data.check.figures import counted
from dragoman.inspection.comparison import ComparedSystem, Comparison, Measured, Versus

__all__ = [
    "SettingRow",
    "Verdict",
    "in_digits",
    "metric_name",
    "p_value",
    "quoted",
    "score_of",
    "sets_better",
    "setting_rows",
    "verdict",
]

_NAMES = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER", "comet": "COMET"}
_LOWER_IS_BETTER = ("ter",)
_ABSENT = "–"


@dataclass(frozen=True)
class Verdict:
    """The outcome in a sentence, and what else belongs to it. `level`: "go" where something was shown, else "look"."""

    level: str
    text: str
    detail: str


@dataclass(frozen=True)
class SettingRow:
    """A setting, and its value in each system; members that differ have theirs side by side."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether it is not the same everywhere."""
        return len(set(self.values)) > 1


def metric_name(metric: str) -> str:
    """The name as its authors write it."""
    return _NAMES.get(metric.lower(), metric)


def in_digits(metric: str, value: float) -> str:
    """A score with two decimals; those of COMET lie between 0 and 1, and have four."""
    return f"{value:.{4 if metric.lower() == 'comet' else 2}f}"


def quoted(name: str) -> str:
    """A name in a sentence."""
    return f"“{name}”"


def p_value(value: float) -> str:
    """The probability as it is reported."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def score_of(system: ComparedSystem, metric: str) -> Measured | None:
    """The system's score by this metric, if it has one."""
    return next((score for score in system.scores if score.metric == metric), None)


def sets_better(metric: str, difference: float) -> bool:
    """Whether such a difference from the baseline is for the better."""
    return (difference < 0) == (metric.lower() in _LOWER_IS_BETTER) and difference != 0


def setting_rows(comparison: Comparison) -> list[SettingRow]:
    """Every setting of every system that has any, in the order of the configurations."""
    systems = [system for system in comparison.systems if any(member.settings for member in system.members)]
    names = dict.fromkeys(name for system in systems for member in system.members for name in member.settings)
    return [SettingRow(name, tuple(_value(system, name) for system in systems)) for name in _in_sections(list(names))]


def _in_sections(names: Sequence[str]) -> list[str]:
    """Settings of one table stand together, the tables in the order in which they first come."""
    tables = dict.fromkeys(name.rpartition(".")[0] for name in names)
    tops = dict.fromkeys(table.partition(".")[0] for table in tables)
    ordered = [table for top in tops for table in tables if table.partition(".")[0] == top]
    return [name for table in ordered for name in names if name.rpartition(".")[0] == table]


def _value(system: ComparedSystem, name: str) -> str:
    values = dict.fromkeys(member.settings.get(name, _ABSENT) for member in system.members if member.settings)
    return ", ".join(values)


def verdict(comparison: Comparison) -> Verdict:
    """Which system is better, and whether one may count on it."""
    metrics = comparison.metrics
    if not metrics:
        return Verdict(
            "look",
            "Nothing is said about which is better: no test set was given.",
            "Give one with --test SOURCE REFERENCE. Losses of models with different vocabularies cannot be compared.",
        )
    ranked = _ranked(comparison, metrics[0])
    if len(ranked) == 1:
        return Verdict("look", f"{quoted(ranked[0].name)} reaches {_reached(ranked[0], metrics[0])}.", "")
    best, metric = ranked[0], metrics[0]
    if best.name == comparison.baseline:
        return _baseline_best(comparison, ranked, metric)
    return _other_best(comparison, ranked, metric)


def _ranked(comparison: Comparison, metric: str) -> list[ComparedSystem]:
    """Systems that have this score, the best first."""
    known = [(system, score) for system in comparison.systems if (score := score_of(system, metric))]
    sign = 1 if metric.lower() in _LOWER_IS_BETTER else -1
    return [system for system, score in sorted(known, key=lambda each: sign * each[1].estimate.value)]


def _reached(system: ComparedSystem, metric: str) -> str:
    return f"{metric_name(metric)} {_figure(system, metric)}"


def _figure(system: ComparedSystem, metric: str) -> str:
    score = score_of(system, metric)
    assert score is not None
    half = score.estimate.half_width
    width = "" if half is None else f" ± {in_digits(metric, half)}"
    return f"{in_digits(metric, score.estimate.value)}{width}"


def _versus(system: ComparedSystem, metric: str) -> Versus | None:
    score = score_of(system, metric)
    return None if score is None else score.versus


def _baseline_best(comparison: Comparison, ranked: Sequence[ComparedSystem], metric: str) -> Verdict:
    best, second = ranked[0], ranked[1]
    versus = _versus(second, metric)
    shown = versus is not None and versus.is_significant
    head = f"{quoted(best.name)}, the baseline, has the best {metric_name(metric)}"
    told = _tested(versus)
    figures = f"{_reached(best, metric)} against {_figure(second, metric)} of {quoted(second.name)}{told}"
    doubt = "" if shown else "; that it is better than this one is not shown"
    text = f"{head}: {figures}{doubt}."
    return Verdict("go" if shown else "look", text, _others(comparison, ranked[1:], metric))


def _other_best(comparison: Comparison, ranked: Sequence[ComparedSystem], metric: str) -> Verdict:
    best = ranked[0]
    versus = _versus(best, metric)
    baseline = next((system for system in ranked if system.name == comparison.baseline), ranked[-1])
    figures = f"{_reached(best, metric)} against {_figure(baseline, metric)}"
    if versus is not None and versus.is_significant:
        head = f"{quoted(best.name)} is better than the baseline {quoted(baseline.name)}"
        return Verdict("go", f"{head}: {figures}{_tested(versus)}.", _others(comparison, ranked, metric))
    head = f"{quoted(best.name)} has the best {metric_name(metric)}, but is not shown to be better than the baseline"
    text = f"{head} {quoted(baseline.name)}: {figures}{_tested(versus)}."
    return Verdict("look", text, _others(comparison, ranked, metric))


def _tested(versus: Versus | None) -> str:
    return ", not tested" if versus is None else f", {p_value(versus.p_value)} ({versus.test})"


def _others(comparison: Comparison, ranked: Sequence[ComparedSystem], metric: str) -> str:
    """What the other scores say of the first of these, and how the rest stand to the baseline."""
    parts = [_agreement(ranked[0], metric, comparison.metrics[1:])]
    groups: dict[str, list[str]] = {}
    for system in ranked[1:]:
        versus = _versus(system, metric)
        if system.name == comparison.baseline or versus is None:
            continue
        kind = "no different, as far as the test can tell"
        if versus.is_significant:
            kind = "better" if sets_better(metric, versus.difference) else "worse"
        groups.setdefault(kind, []).append(quoted(system.name))
    stand = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups.items())
    count = counted(sum(map(len, groups.values())), "other system")
    parts.append(f"Of {count}, against the baseline by {metric_name(metric)}: {stand}." if stand else "")
    return " ".join(part for part in parts if part)


def _agreement(system: ComparedSystem, metric: str, others: Sequence[str]) -> str:
    """Whether the other metrics say the same of a system as the first does."""
    first = _versus(system, metric)
    if first is None:
        return ""
    better = sets_better(metric, first.difference)
    told = []
    for other in others:
        versus = _versus(system, other)
        if versus is None:
            continue
        says = "says the same" if sets_better(other, versus.difference) == better else "says the opposite"
        told.append(f"{metric_name(other)} {says} ({p_value(versus.p_value)})")
    return f"Of {quoted(system.name)}, {', '.join(told)}." if told else ""
