"""What tables show of an evaluation: a figure for each metric of each system, and whether it differs from the baseline.

The terminal, Markdown and pages show the same figures with the same marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman.evaluation.report import Evaluation, LengthScores, SystemScores

__all__ = [
    "Figure",
    "LOWER_IS_BETTER",
    "MARK",
    "SIGNIFICANT",
    "digits",
    "figures",
    "legend",
    "lengths",
    "range_of",
    "signatures",
    "title",
]

SIGNIFICANT = 0.05
"""Differences with a smaller p-value than this are marked."""
MARK = "*"
LOWER_IS_BETTER = ("ter",)

_TITLES = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER", "comet": "COMET"}
_TESTS = {"bootstrap": "paired bootstrap resampling", "randomization": "paired approximate randomization"}


@dataclass(frozen=True)
class Figure:
    """One metric of one system: the score of its only member, or the mean of several.

    `half_width` is half of the 95 % interval: over sentences for one member, over members for several. `p_value` is
    that of the difference from the baseline; of several tests, one for each member, it is the largest.
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


def title(metric: str) -> str:
    """What a metric is called."""
    return _TITLES.get(metric, metric)


def digits(metric: str) -> int:
    """How many decimals are shown: those of COMET lie between 0 and 1."""
    return 4 if metric == "comet" else 2


def figures(system: SystemScores) -> tuple[Figure, ...]:
    """The figures of a system, a metric each."""
    if len(system.members) > 1:
        return tuple(
            Figure(each.metric, each.mean, each.half_width, _p_value(system, each.metric)) for each in system.spreads
        )
    (member,) = system.members
    return tuple(
        Figure(
            score.name,
            score.value,
            None if score.interval is None else score.interval.half_width,
            _p_value(system, score.name),
        )
        for score in member.scores
    )


def _p_value(system: SystemScores, metric: str) -> float | None:
    if metric in system.seeds_differ:
        return system.seeds_differ[metric]
    found = [
        result.p_value for member in system.members for result in member.against_baseline if result.metric == metric
    ]
    return max(found, default=None)


def legend(evaluation: Evaluation, named: Callable[[str], str] = str) -> Iterator[str]:
    """What the signs in the table mean, a sentence each; `named` makes the baseline's name fit to be shown."""
    systems = evaluation.systems
    if evaluation.resamples and any(len(system.members) == 1 for system in systems):
        yield f"± 95 % interval over sentences: bootstrap, {evaluation.resamples:,} resamples."
    if any(len(system.members) > 1 for system in systems):
        yield "± where a system has several members: 95 % interval of their mean, Student's t."
    if evaluation.baseline is None:
        return
    yield f"{MARK} p < {SIGNIFICANT} against {named(evaluation.baseline)}: {'; '.join(_tests(evaluation))}."


def _tests(evaluation: Evaluation) -> Iterator[str]:
    others = [system for system in evaluation.systems if system.name != evaluation.baseline]
    if any(system.seeds_differ for system in others):
        yield "Welch's t-test over members"
    alone = [system for system in others if not system.seeds_differ]
    tests = dict.fromkeys(
        result.test for each in alone for member in each.members for result in member.against_baseline
    )
    for test in tests:
        several = ", for every member" if any(len(system.members) > 1 for system in alone) else ""
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
                    width = None if score.interval is None or row.sentences == 1 else score.interval.half_width
                    found.setdefault(range_of(row), []).append(Figure(metric, score.value, width))
    return {name: _mean(rows) for name, rows in found.items()}


def _mean(rows: list[Figure]) -> Figure:
    if len(rows) == 1:
        return rows[0]
    return Figure(rows[0].metric, sum(row.value for row in rows) / len(rows))
