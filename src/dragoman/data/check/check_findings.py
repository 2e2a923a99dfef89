"""Summarize a check report (verdict, drop reasons, overlap with test sets) for the terminal and the HTML page."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from dragoman.data.check.report_types import CheckReport, CorpusReport
from dragoman.data.preparation.selected_pairs import is_leak
from dragoman.data.reason_counts import Example, Tally
from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.reporting.verdict import Verdict

DropStage = Literal["reading", "cleaning", "leakage", "duplicates", "held out"]


@dataclass(frozen=True)
class DropStep:
    """Pairs dropped from the training set for one reason, and the number left after it."""

    stage: DropStage
    reason: str
    count: int
    left: int


def training(report: CheckReport) -> list[CorpusReport]:
    """Return the training corpora."""
    return [corpus for corpus in report.corpora if corpus.role == "train"]


def verdict(report: CheckReport) -> Verdict:
    """Return whether the corpora are ready for preparation."""
    detail = _detail(report)
    if report.fatal:
        problems = format_count(len(report.fatal), "problem")
        return Verdict("error", f"Not ready: {problems} must be solved before training", detail)
    if not report.selection.kept:
        return Verdict("error", "Not ready: nothing is left to learn from", detail)
    is_odd = merged(report.corpora, "faults").total or any(corpus.looks_swapped for corpus in report.corpora)
    if report.advice or is_odd:
        ready = "Ready for a trial only" if report.is_small else "Ready"
        return Verdict("warning", f"{ready}, with {format_count(max(len(report.advice), 1), 'thing')} to check", detail)
    return Verdict("ok", "Ready", detail)


def _detail(report: CheckReport) -> str:
    own, selection = training(report), report.selection
    read, cleaned = (sum(getattr(corpus.summary, name) for corpus in own) for name in ("records", "kept"))
    # If an error stopped the check early, no pairs were selected.
    left, word = (selection.kept, "kept") if selection.cleaned else (cleaned, "left after cleaning")
    detail = f"{report.source} → {report.target}: {left:,} of {format_count(read, 'training pair')} are {word}"
    held_out = ", ".join(f"{count:,} {name}" for name, count in selection.held_out.items() if count)
    return f"{detail} ({format_percent(left, read)}){f'; held out: {held_out}' if held_out else ''}"


def merged(corpora: Iterable[CorpusReport], name: Literal["faults", "notes", "repairs", "drops"]) -> Tally:
    """Return the merged tally of several corpora."""
    whole = Tally()
    for corpus in corpora:
        whole.merge(getattr(corpus.summary, name))
    return whole


def waterfall(report: CheckReport) -> list[DropStep]:
    """Return all drop reasons from the pairs read to those kept, stage by stage, the most frequent first."""
    own = training(report)
    leaked, doubled, taken = Tally(), Tally(), Tally()
    taken.add("set aside for validation and test", report.selection.set_aside)
    for kind, count in report.selection.drops.counts.items():
        (leaked if is_leak(kind) else doubled).add(kind, count)
    stages: list[tuple[DropStage, Tally]] = [
        ("reading", merged(own, "faults")),
        ("cleaning", merged(own, "drops")),
        ("leakage", leaked),
        ("duplicates", doubled),
        ("held out", taken),
    ]
    left = sum(corpus.summary.records for corpus in own)
    steps: list[DropStep] = []
    for stage, tally in stages:
        for reason, count in sorted(tally.counts.items(), key=lambda item: (-item[1], item[0])):
            left -= count
            steps.append(DropStep(stage, reason, count, left))
    return steps


def leaks(report: CheckReport) -> dict[str, int]:
    """Return the number of training pairs that leak from held-out sets, by kind."""
    return {kind: count for kind, count in report.selection.drops.counts.items() if is_leak(kind)}


def places(tally: Tally, most: int) -> list[tuple[str, Example]]:
    """Return up to `most` examples, some of every reason, ordered by file and line."""
    queues = [[(reason, example) for example in examples] for reason, examples in tally.examples.items()]
    in_turn = [entry for round_ in zip_longest(*queues) for entry in round_ if entry is not None]
    return sorted(in_turn[:most], key=lambda entry: (entry[1], entry[0]))


def languages(report: CheckReport) -> list[tuple[CorpusReport, str, str, dict[str, float]]]:
    """Return each corpus and side with detected languages, and its expected language."""
    wanted = {"source": primary_language(report.source), "target": primary_language(report.target)}
    return [
        (corpus, side, wanted[side], shares)
        for corpus in report.corpora
        for side, shares in corpus.languages.items()
        if side in wanted and shares
    ]
