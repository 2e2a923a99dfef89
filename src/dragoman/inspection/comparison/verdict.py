"""Rank the compared systems and conclude whether one is significantly better."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluation.aggregate_members import describe_test
from dragoman.evaluation.results import (
    Evaluation,
    SignificanceTest,
    SystemResult,
    format_metric_value,
    format_p_value,
    format_score,
    is_improvement,
    is_lower_better,
    useless_bleu,
)
from dragoman.inspection.comparison.report_types import ComparisonReport, ModelDetails, TrainingSummary
from dragoman.reporting.number_format import metric_title
from dragoman.reporting.verdict import Verdict

_VALIDATION_FILES = re.compile(r"data\.(validation\.files|train\[\d+\]\.validation)")


def best_systems(systems: Sequence[SystemResult], metric: str) -> set[str]:
    """Return the names of the systems with the best displayed score."""
    values = {system.name: score.value for system in systems if (score := system.score(metric))}
    best = (min if is_lower_better(metric) else max)(values.values())
    displayed = format_metric_value(metric, best)
    return {name for name, value in values.items() if format_metric_value(metric, value) == displayed}


def conclude(report: ComparisonReport) -> Verdict:
    """Conclude which system is better, and whether the difference is significant."""
    if report.evaluation is None or not report.evaluation.metrics:
        if len(report.systems) == 1:
            return Verdict(
                "warning",
                "The system is not scored: no test set was given.",
                "Give one with --test SOURCE REFERENCE, or name further systems to compare.",
            )
        text = "The systems are not ranked: no test set was given."
        sets = {_validation_set(each, each.training) for each in report.members if each.training is not None}
        if len(sets) > 1:
            text += " Their scores in validation cannot be compared: the validation sets may differ."
        return Verdict(
            "warning",
            text,
            "Give one with --test SOURCE REFERENCE. Losses of models with different vocabularies cannot be compared.",
        )
    verdict = _Ranking(report.evaluation).verdict()
    best = useless_bleu(report.evaluation.systems, report.evaluation.test_set.languages[1])
    if best is None or len(report.evaluation.systems) == 1:
        return verdict
    return replace(verdict, level="warning", text=f"No system translates usefully yet. {verdict.text}")


def _validation_set(member: ModelDetails, training: TrainingSummary) -> tuple[object, ...]:
    """Return what identifies a validation set: its size and file names, or the corpus that it was taken from.

    Folders are ignored: two projects name the same file by different relative paths.
    """
    listed = [json.loads(value) for name, value in member.settings.items() if _VALIDATION_FILES.fullmatch(name)]
    files = sorted(tuple(file.rpartition("/")[2] for file in each) for each in listed)
    return (training.pairs.get("validation"), *(files or [(training.data_fingerprint,)]))


class _Ranking:
    """Systems ranked by the first metric."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.metric, *self.other_metrics = evaluation.metrics
        sign = 1 if is_lower_better(self.metric) else -1
        scored = [(sign * score.value, system) for system in evaluation.systems if (score := system.score(self.metric))]
        self.systems = [system for _, system in sorted(scored, key=lambda each: each[0])]

    def verdict(self) -> Verdict:
        best = self.systems[0]
        if len(self.systems) == 1:
            return Verdict("warning", f"{_quote(best.name)} reaches {self._title(best)}.")
        leaders = [system.name for system in self._tied()]
        if self.evaluation.baseline in leaders and len(leaders) > 1:
            return self._no_difference()
        if best.name == self.evaluation.baseline:
            return self._baseline_best()
        return self._other_best()

    def _baseline_best(self) -> Verdict:
        best, second = self.systems[0], self.systems[1]
        test = second.test(self.metric)
        is_shown = _is_shown(test, better=False)
        scores = f"{self._title(best)} against {self._score(second)} of {_quote(second.name)}{self._tested(second)}"
        opposite = self._contradicting(second, better=True) if is_shown else []
        head = f"{_quote(best.name)}, the baseline, has the best {metric_title(self.metric)}"
        if opposite:
            head += f", but by {_join(opposite)} {_quote(second.name)} is better"
            return Verdict("warning", f"{head}: {scores}.")
        doubt = "" if is_shown else "; the difference is not significant"
        return Verdict("ok" if is_shown else "warning", f"{head}: {scores}{doubt}.")

    def _other_best(self) -> Verdict:
        best, name = self.systems[0], metric_title(self.metric)
        baseline = self.evaluation.baseline_system or self.systems[-1]
        scores = f"{self._title(best)} against {self._score(baseline)}{self._tested(best)}"
        if not _is_shown(best.test(self.metric), better=True):
            leaders = [_quote(system.name) for system in self._tied()]
            have, are = ("has", "is") if len(leaders) == 1 else ("have", "are")
            head = f"{_join(leaders)} {have} the best {name}, but {are} not significantly better than the baseline"
            return Verdict("warning", f"{head} {_quote(baseline.name)}: {scores}.")
        head = f"{_quote(best.name)} is better than the baseline {_quote(baseline.name)}"
        opposite = self._contradicting(best, better=False)
        if opposite:
            return Verdict("warning", f"{head} by {name}, but worse by {_join(opposite)}: {scores}.")
        return Verdict("ok", f"{head}: {scores}.")

    def _no_difference(self) -> Verdict:
        """The baseline and others have the same best score."""
        tied = self._tied()
        others = [system for system in tied if system.name != self.evaluation.baseline]
        names = _join([_quote(str(self.evaluation.baseline)), *(_quote(system.name) for system in others)])
        score = tied[0].score(self.metric)
        assert score is not None
        value = format_metric_value(self.metric, score.value)
        text = f"There is no difference in {metric_title(self.metric)} between the baseline {names}: {value}."
        return Verdict("warning", text)

    def _tied(self) -> list[SystemResult]:
        """Return the best system and those with the same displayed score."""
        names = best_systems(self.systems, self.metric)
        return [system for system in self.systems if system.name in names]

    def _title(self, system: SystemResult) -> str:
        return f"{metric_title(self.metric)} {self._score(system)}"

    def _score(self, system: SystemResult) -> str:
        score = system.score(self.metric)
        assert score is not None
        return format_score(score)

    def _tested(self, system: SystemResult) -> str:
        test = system.test(self.metric)
        if test is None:
            return ", not tested"
        return f", {format_p_value(test.p_value)} ({describe_test(test, system, self.evaluation.baseline_system)})"

    def _contradicting(self, system: SystemResult, *, better: bool) -> list[str]:
        """Return the titles of metrics by which the system is significantly better, or worse."""
        return [metric_title(metric) for metric in self.other_metrics if _is_shown(system.test(metric), better=better)]


def _is_shown(test: SignificanceTest | None, *, better: bool) -> bool:
    """Whether a test shows that a system is better, or worse, than the baseline."""
    sign = 1 if better else -1
    return test is not None and test.is_significant and is_improvement(test.metric, sign * test.difference)


def _quote(name: str) -> str:
    return f"“{name}”"


def _join(words: Sequence[str]) -> str:
    """Join words in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
