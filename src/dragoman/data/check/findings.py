"""What a report says when its numbers are put together; the screen and the page show the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from dragoman.data.check.figures import counted, percent
from dragoman.data.check.report import CorpusReport, Pieces, Report
from dragoman.data.cleaning.language import primary_language
from dragoman.data.preparation.selected import is_leak
from dragoman.data.tally import Example, Tally

__all__ = [
    "Step",
    "Verdict",
    "histogram",
    "is_leak",
    "languages",
    "leaks",
    "merged",
    "most_pieces",
    "places",
    "training",
    "verdict",
    "waterfall",
]

Stage = Literal["reading", "cleaning", "leakage", "duplicates", "held out"]


@dataclass(frozen=True)
class Step:
    """Pairs that left the training set for one reason, and how many were left after it."""

    stage: Stage
    reason: str
    count: int
    left: int


@dataclass(frozen=True)
class Verdict:
    """The report in a line, and the figures behind it in another."""

    level: Literal["stop", "look", "go"]
    text: str
    detail: str


def training(report: Report) -> list[CorpusReport]:
    """The corpora that are learnt from."""
    return [corpus for corpus in report.corpora if corpus.role == "train"]


def verdict(report: Report) -> Verdict:
    """Whether one can go on."""
    detail = _detail(report)
    if report.fatal:
        problems = counted(len(report.fatal), "problem")
        return Verdict("stop", f"Not ready: {problems} must be solved before dragoman prepare can run", detail)
    if not report.selection.kept:
        return Verdict("stop", "Not ready: nothing is left to learn from", detail)
    is_odd = merged(report.corpora, "faults").total or any(corpus.looks_swapped for corpus in report.corpora)
    if report.advice or is_odd:
        return Verdict("look", f"Ready, with {counted(max(len(report.advice), 1), 'thing')} to look at", detail)
    return Verdict("go", "Ready", detail)


def _detail(report: Report) -> str:
    own, selection = training(report), report.selection
    read, cleaned = (sum(getattr(corpus.summary, name) for corpus in own) for name in ("records", "kept"))
    # Where a fault stopped the check early, nothing was selected.
    left, word = (selection.kept, "kept") if selection.cleaned else (cleaned, "left after cleaning")
    detail = f"{report.source} → {report.target}: {left:,} of {counted(read, 'training pair')} are {word}"
    held_out = ", ".join(f"{count:,} {name}" for name, count in selection.held_out.items() if count)
    return f"{detail} ({percent(left, read)}){f'; held out: {held_out}' if held_out else ''}"


def merged(corpora: Iterable[CorpusReport], name: Literal["faults", "notes", "repairs", "drops"]) -> Tally:
    """One tally of all the corpora."""
    whole = Tally()
    for corpus in corpora:
        whole.merge(getattr(corpus.summary, name))
    return whole


def waterfall(report: Report) -> list[Step]:
    """From the training pairs read to those kept: every reason, stage by stage, the most frequent of a stage first."""
    own = training(report)
    leaked, doubled = Tally(), Tally()
    for kind, count in report.selection.drops.counts.items():
        (leaked if is_leak(kind) else doubled).add(kind, count)
    stages: list[tuple[Stage, Tally]] = [
        ("reading", merged(own, "faults")),
        ("cleaning", merged(own, "drops")),
        ("leakage", leaked),
        ("duplicates", doubled),
        ("held out", _set_aside(report)),
    ]
    left = sum(corpus.summary.records for corpus in own)
    steps: list[Step] = []
    for stage, tally in stages:
        for reason, count in sorted(tally.counts.items(), key=lambda item: (-item[1], item[0])):
            left -= count
            steps.append(Step(stage, reason, count, left))
    return steps


def _set_aside(report: Report) -> Tally:
    """Training pairs that became validation or test pairs: what the drops do not account for."""
    selection, taken = report.selection, Tally()
    taken.add("set aside for validation and test", max(0, selection.cleaned - selection.drops.total - selection.kept))
    return taken


def leaks(report: Report) -> dict[str, int]:
    """How many training pairs are in the held-out sets too, by kind."""
    return {kind: count for kind, count in report.selection.drops.counts.items() if is_leak(kind)}


def places(tally: Tally, most: int) -> list[tuple[str, Example]]:
    """Up to so many examples, some of every reason, in the order of their files and lines."""
    queues = [[(reason, example) for example in examples] for reason, examples in tally.examples.items()]
    in_turn = [entry for round_ in zip_longest(*queues) for entry in round_ if entry is not None]
    return sorted(in_turn[:most], key=lambda entry: (entry[1], entry[0]))


def histogram(report: Report, name: str) -> list[int]:
    """A histogram of all training corpora together; empty where nothing was counted."""
    found = [corpus.summary.histograms.get(name, []) for corpus in training(report)]
    return [sum(bins) for bins in zip_longest(*found, fillvalue=0)]


def languages(report: Report) -> list[tuple[CorpusReport, str, str, dict[str, float]]]:
    """Each corpus and side whose language was looked at, with the language it should be in."""
    wanted = {"source": primary_language(report.source), "target": primary_language(report.target)}
    return [
        (corpus, side, wanted[side], shares)
        for corpus in report.corpora
        for side, shares in corpus.languages.items()
        if side in wanted and shares
    ]


def most_pieces(pieces: Pieces) -> int:
    """The setting max_pieces: a histogram counts pairs of 0 to so many pieces, those that are not too long."""
    return max((len(counts) - 1 for counts in pieces.histograms.values()), default=0)
