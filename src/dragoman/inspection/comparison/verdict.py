"""Rank the compared systems and conclude whether one is significantly better."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluation.aggregate_members import describe_test
from dragoman.evaluation.results import (
    Evaluation,
    Score,
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


def best_systems(systems: Sequence[SystemResult], metric: str) -> list[str]:
    """Return the names of the systems with the best displayed score."""
    values = {system.name: score.value for system in systems if (score := system.score(metric))}
    best = (min if is_lower_better(metric) else max)(values.values())
    displayed = format_metric_value(metric, best)
    return [name for name, value in values.items() if format_metric_value(metric, value) == displayed]


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
    verdict = _rank(report.evaluation)
    best = useless_bleu(report.evaluation.systems, report.evaluation.test_set.languages[1])
    if best is None or len(report.evaluation.systems) == 1:
        return verdict
    return replace(verdict, level="warning", text=f"No system translates usefully yet. {verdict.text}")


def _validation_set(member: ModelDetails, training: TrainingSummary) -> tuple[object, ...]:
    """Return what identifies a validation set: size and file names, since projects differ in folders, or the corpus."""
    listed = [json.loads(value) for name, value in member.settings.items() if _VALIDATION_FILES.fullmatch(name)]
    files = sorted(tuple(file.rpartition("/")[2] for file in each) for each in listed)
    return (training.pairs.get("validation"), *(files or [(training.data_fingerprint,)]))


def _rank(evaluation: Evaluation) -> Verdict:
    """Compare the best system by the first metric with the baseline, or a baseline that is the best with the second."""
    metric, *others = evaluation.metrics
    sign, title = 1 if is_lower_better(metric) else -1, metric_title(metric)
    scored = [(sign * score.value, format_score(score), system) for system, score in _scored(evaluation, metric)]
    (_, best_score, best), *rest = sorted(scored, key=lambda each: each[0])
    if not rest:
        return Verdict("warning", f"{_quote(best.name)} reaches {title} {best_score}.")
    baseline, names = evaluation.baseline_system or rest[-1][2], best_systems(evaluation.systems, metric)
    if baseline.name in names and len(names) > 1:
        leaders = _join([_quote(baseline.name), *(_quote(each) for each in names if each != baseline.name)])
        value = format_metric_value(metric, baseline.score(metric).value)  # type: ignore[union-attr]
        return Verdict("warning", f"There is no difference in {title} between the baseline {leaders}: {value}.")
    is_baseline = best is baseline
    other_score, other = next(each[1:] for each in rest if is_baseline or each[2] is baseline)
    tested = other if is_baseline else best
    test = tested.test(metric)
    is_shown = _is_shown(test, better=not is_baseline)
    opposite = [metric_title(each) for each in others if is_shown and _is_shown(tested.test(each), better=is_baseline)]
    if is_baseline:
        head = f"{_quote(best.name)}, the baseline, has the best {title}"
    elif is_shown:
        head = f"{_quote(best.name)} is better than the baseline {_quote(other.name)}"
    else:
        have, are = ("has", "is") if len(names) == 1 else ("have", "are")
        head = f"{_join([*map(_quote, names)])} {have} the best {title}, but {are} not significantly better than the "
        head += f"baseline {_quote(other.name)}"
    head += f", but by {_join(opposite)} {_quote(other.name)} is better" if opposite else ""
    scores = f"{title} {best_score} against {other_score}{f' of {_quote(other.name)}' if is_baseline else ''}"
    p = "not tested"
    if test is not None:
        p = f"{format_p_value(test.p_value)} ({describe_test(test, tested, evaluation.baseline_system)})"
    doubt = "; the difference is not significant" if is_baseline and not is_shown else ""
    return Verdict("ok" if is_shown and not opposite else "warning", f"{head}: {scores}, {p}{doubt}.")


def _scored(evaluation: Evaluation, metric: str) -> list[tuple[SystemResult, Score]]:
    return [(system, score) for system in evaluation.systems if (score := system.score(metric))]


def _is_shown(test: SignificanceTest | None, *, better: bool) -> bool:
    """Whether a test shows that a system is better, or worse, than the baseline."""
    sign = 1 if better else -1
    return test is not None and test.is_significant and is_improvement(test.metric, sign * test.difference)


def _quote(name: str) -> str:
    return f"“{name}”"


def _join(words: Sequence[str]) -> str:
    """Join words in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
