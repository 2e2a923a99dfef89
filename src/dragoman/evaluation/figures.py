"""What tables show of an evaluation: a figure for each metric of each system, and whether it differs from the baseline.

The terminal, Markdown and pages show the same figures with the same marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman.data.check.scores import LOWER_IS_BETTER, SIGNIFICANT, digits, title
from dragoman.evaluation.metrics import Score
from dragoman.evaluation.report import Evaluation, LengthScores, SystemScores
from dragoman.evaluation.weakest import weakest_result

__all__ = [
    "Figure",
    "LOWER_IS_BETTER",
    "MARK",
    "SIGNIFICANT",
    "baseline_of",
    "digits",
    "figures",
    "legend",
    "lengths",
    "range_of",
    "signatures",
    "title",
]

MARK = "*"
"""Stands beside figures whose difference has a smaller p-value than `SIGNIFICANT`."""

_TESTS = {"bootstrap": "paired bootstrap resampling", "randomization": "paired approximate randomization"}


@dataclass(frozen=True)
class Figure:
    """One metric of one system: the score of its only member, or the mean of several.

    `half_width` is half of the 95 % interval: over sentences for one member, over members for several; one sentence has
    none. `p_value` is that of the difference from the baseline; of several tests, one for each member, it is the
    largest, or 1 where members lie on both sides of the baseline.
    """

    metric: str
    value: float
    half_width: float | None = None
    p_value: float | None = None

    @property
    def is_marked(self) -> bool:
        """Whether it differs significantly from the baseline."""
        return self.p_value is not None and self.p_value < SIGNIFICANT

    def __str__(self) -> str:
        places = digits(self.metric)
        width = "" if self.half_width is None else f" ± {self.half_width:.{places}f}"
        return f"{self.value:.{places}f}{width}{f' {MARK}' if self.is_marked else ''}"


def figures(system: SystemScores, baseline: SystemScores | None = None) -> tuple[Figure, ...]:
    """The figures of a system, a metric each; marked if it differs from the baseline, where there is one."""
    if len(system.members) > 1:
        return tuple(
            Figure(each.metric, each.mean, each.half_width, _p_value(system, baseline, each.metric))
            for each in system.spreads
        )
    (member,) = system.members
    return tuple(
        Figure(
            score.name,
            score.value,
            _half_width(score, len(member.hypotheses)),
            _p_value(system, baseline, score.name),
        )
        for score in member.scores
    )


def baseline_of(evaluation: Evaluation) -> SystemScores | None:
    """The system that the others are held against."""
    return next((system for system in evaluation.systems if system.name == evaluation.baseline), None)


def _p_value(system: SystemScores, baseline: SystemScores | None, metric: str) -> float | None:
    if baseline is None or system.name == baseline.name:
        return None
    if _is_over_members(system, baseline):
        return system.seeds_differ.get(metric)  # a metric that Welch's test is silent about has no other test
    found = [result for member in system.members for result in member.against_baseline if result.metric == metric]
    return weakest_result(found).p_value if found else None


def _is_over_members(system: SystemScores, baseline: SystemScores) -> bool:
    """Whether it is Welch's test that a mark stands for."""
    return len(system.members) > 1 and len(baseline.members) > 1


def _half_width(score: Score, sentences: int) -> float | None:
    """Half of the interval; resamples of a single sentence are all the same, and say nothing."""
    return None if score.interval is None or sentences == 1 else score.interval.half_width


def legend(evaluation: Evaluation, named: Callable[[str], str] = str) -> Iterator[str]:
    """What the signs in the table mean, a sentence each; `named` makes the baseline's name fit to be shown."""
    systems = evaluation.systems
    if evaluation.resamples and evaluation.sentences > 1 and any(len(system.members) == 1 for system in systems):
        yield f"± 95 % interval over sentences: bootstrap, {evaluation.resamples:,} resamples."
    if any(len(system.members) > 1 for system in systems):
        yield "± where a system has several members: 95 % interval of their mean, Student's t."
    if baseline := baseline_of(evaluation):
        yield f"{MARK} p < {SIGNIFICANT} against {named(baseline.name)}: {'; '.join(_tests(evaluation, baseline))}."


def _tests(evaluation: Evaluation, baseline: SystemScores) -> Iterator[str]:
    others = [system for system in evaluation.systems if system.name != baseline.name]
    if any(_is_over_members(system, baseline) for system in others):
        yield "Welch's t-test over members"
    alone = [system for system in others if not _is_over_members(system, baseline)]
    tests = dict.fromkeys(
        result.test for each in alone for member in each.members for result in member.against_baseline
    )
    for test in tests:
        several = ", for every member" if any(len(system.members) > 1 for system in (*alone, baseline)) else ""
        yield f"sacreBLEU's {_TESTS[test]}{several}"


def signatures(evaluation: Evaluation) -> dict[str, str]:
    """How each metric was computed; it is the same for all systems."""
    found: dict[str, str] = {}
    for system in evaluation.systems:
        for member in system.members:
            for score in member.scores:
                found.setdefault(score.name, score.signature)
    return found


def range_of(scores: LengthScores) -> str:
    """The lengths of a row: 10–19, or 60+."""
    return f"{scores.low}+" if scores.high is None else f"{scores.low}–{scores.high}"


def lengths(system: SystemScores, metric: str) -> dict[str, Figure]:
    """A metric by the length of the source; several members by their mean."""
    found: dict[str, list[Figure]] = {}
    for member in system.members:
        for row in member.by_length:
            for score in row.scores:
                if score.name == metric:
                    width = _half_width(score, row.sentences)
                    found.setdefault(range_of(row), []).append(Figure(metric, score.value, width))
    return {name: _mean(rows) for name, rows in found.items()}


def _mean(rows: list[Figure]) -> Figure:
    if len(rows) == 1:
        return rows[0]
    return Figure(rows[0].metric, sum(row.value for row in rows) / len(rows))
