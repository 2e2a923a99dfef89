"""What a comparison comes to: the verdict in a sentence, and the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data.check.figures import counted
from dragoman.data.check.scores import LOWER_IS_BETTER, SIGNIFICANT, digits
from dragoman.data.check.scores import title as metric_name
from dragoman.inspection.comparison import ComparedSystem, Comparison, Measured, Versus

__all__ = [
    "SettingRow",
    "Verdict",
    "best_systems",
    "in_digits",
    "metric_name",
    "p_value",
    "quoted",
    "score_of",
    "sets_better",
    "setting_rows",
    "verdict",
]

_ABSENT = "–"
_UNDECIDED = "no different, as far as the test can tell"


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


def in_digits(metric: str, value: float) -> str:
    """A score with as many decimals as its metric is shown with."""
    return f"{value:.{digits(metric)}f}"


def quoted(name: str) -> str:
    """A name in a sentence."""
    return f"“{name}”"


def p_value(value: float) -> str:
    """The probability as it is reported: with three decimals, and more where they decide whether it is significant."""
    if value < 0.001:
        return "p < 0.001"
    places = 3 if value == SIGNIFICANT or abs(value - SIGNIFICANT) >= 0.0005 else 4
    while value < SIGNIFICANT <= float(f"{value:.{places}f}"):
        places += 1
    return f"p = {value:.{places}f}"


def score_of(system: ComparedSystem, metric: str) -> Measured | None:
    """The system's score by this metric, if it has one."""
    return next((score for score in system.scores if score.metric == metric), None)


def sets_better(metric: str, difference: float) -> bool:
    """Whether such a difference from the baseline is for the better."""
    return (difference < 0) == (metric.lower() in LOWER_IS_BETTER) and difference != 0


def best_systems(systems: Sequence[ComparedSystem], metric: str) -> set[str]:
    """The names of all whose figure, as it is shown, is the best."""
    known = {system.name: score.estimate.value for system in systems if (score := score_of(system, metric))}
    best = (min if sets_better(metric, -1.0) else max)(known.values())
    return {name for name, value in known.items() if in_digits(metric, value) == in_digits(metric, best)}


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
    leaders = [system.name for system in _tied(ranked, metric)]
    if comparison.baseline in leaders and len(leaders) > 1:
        return _no_difference(comparison, ranked, metric)
    if best.name == comparison.baseline:
        return _baseline_best(comparison, ranked, metric)
    return _other_best(comparison, ranked, metric)


def _ranked(comparison: Comparison, metric: str) -> list[ComparedSystem]:
    """Systems that have this score, the best first."""
    known = [(system, score) for system in comparison.systems if (score := score_of(system, metric))]
    sign = 1 if metric.lower() in LOWER_IS_BETTER else -1
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
    versus, name = _versus(second, metric), metric_name(metric)
    is_shown = _is_shown(metric, versus, better=False)
    figures = f"{_reached(best, metric)} against {_figure(second, metric)} of {quoted(second.name)}{_tested(versus)}"
    detail = _others(comparison, ranked[1:], metric)
    against = _contradicting(second, comparison.metrics[1:], better=True) if is_shown else []
    head = f"{quoted(best.name)}, the baseline, has the best {name}"
    if against:
        head += f", but by {_joined(against)} {quoted(second.name)} is better"
        return Verdict("look", f"{head}: {figures}.", detail)
    doubt = "" if is_shown else "; that it is better than this one is not shown"
    return Verdict("go" if is_shown else "look", f"{head}: {figures}{doubt}.", detail)


def _other_best(comparison: Comparison, ranked: Sequence[ComparedSystem], metric: str) -> Verdict:
    best, name = ranked[0], metric_name(metric)
    versus = _versus(best, metric)
    baseline = next((system for system in ranked if system.name == comparison.baseline), ranked[-1])
    figures = f"{_reached(best, metric)} against {_figure(baseline, metric)}{_tested(versus)}"
    detail = _others(comparison, ranked, metric)
    if not _is_shown(metric, versus, better=True):
        leaders = [quoted(system.name) for system in _tied(ranked, metric)]
        have, are = ("has", "is") if len(leaders) == 1 else ("have", "are")
        head = f"{_joined(leaders)} {have} the best {name}, but {are} not shown to be better than the baseline"
        return Verdict("look", f"{head} {quoted(baseline.name)}: {figures}.", detail)
    head = f"{quoted(best.name)} is better than the baseline {quoted(baseline.name)}"
    against = _contradicting(best, comparison.metrics[1:], better=False)
    if against:
        return Verdict("look", f"{head} by {name}, but worse by {_joined(against)}: {figures}.", detail)
    return Verdict("go", f"{head}: {figures}.", detail)


def _no_difference(comparison: Comparison, ranked: Sequence[ComparedSystem], metric: str) -> Verdict:
    """The baseline and others have the same figure, and none has a better one."""
    tied = _tied(ranked, metric)
    others = [system for system in tied if system.name != comparison.baseline]
    names = _joined([quoted(str(comparison.baseline)), *(quoted(system.name) for system in others)])
    score = score_of(tied[0], metric)
    assert score is not None
    figure = in_digits(metric, score.estimate.value)
    text = f"There is no difference in {metric_name(metric)} between the baseline {names}: {figure}."
    rest = [system for system in ranked if system not in tied]
    return Verdict("look", text, _others(comparison, [*others, *rest], metric))


def _tied(ranked: Sequence[ComparedSystem], metric: str) -> list[ComparedSystem]:
    """The best, and all whose figure reads the same."""
    names = best_systems(ranked, metric)
    return [system for system in ranked if system.name in names]


def _joined(words: Sequence[str]) -> str:
    """Words in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _is_shown(metric: str, versus: Versus | None, *, better: bool) -> bool:
    """Whether a test shows that a system is better, or worse, than the baseline."""
    sign = 1 if better else -1
    return versus is not None and versus.is_significant and sets_better(metric, sign * versus.difference)


def _contradicting(system: ComparedSystem, metrics: Sequence[str], *, better: bool) -> list[str]:
    """The names of those metrics by which a test shows that the system is better, or worse."""
    return [metric_name(metric) for metric in metrics if _is_shown(metric, _versus(system, metric), better=better)]


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
        groups.setdefault(_shows(metric, versus) or _UNDECIDED, []).append(quoted(system.name))
    stand = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups.items())
    count = counted(sum(map(len, groups.values())), "other system")
    parts.append(f"Of {count}, against the baseline by {metric_name(metric)}: {stand}." if stand else "")
    return " ".join(part for part in parts if part)


def _agreement(system: ComparedSystem, metric: str, others: Sequence[str]) -> str:
    """What the other metrics show of a system; where the first shows something too, whether it is the same."""
    first = _versus(system, metric)
    if first is None:
        return ""
    told = []
    for other in others:
        versus = _versus(system, other)
        if versus is not None:
            told.append(
                f"{metric_name(other)} {_says(_shows(metric, first), _shows(other, versus))}"
                f" ({p_value(versus.p_value)})"
            )
    return f"Of {quoted(system.name)}, {', '.join(told)}." if told else ""


def _shows(metric: str, versus: Versus) -> str:
    """What a test shows: that a system is better, that it is worse, or nothing."""
    return next((word for word in ("better", "worse") if _is_shown(metric, versus, better=word == "better")), "")


def _says(first: str, other: str) -> str:
    if not other:
        return "shows no difference"
    if not first:
        return f"says that it is {other}"
    return "says the same" if other == first else "says the opposite"
