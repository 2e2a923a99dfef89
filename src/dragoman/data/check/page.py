"""Render the report of ``dragoman check`` as one self-contained HTML page."""

from collections.abc import Iterator

from dragoman.data.check.report_types import CheckReport, languages, leaks, merged, training, verdict, waterfall
from dragoman.data.preparation.selected_pairs import is_leak
from dragoman.data.reason_counts import Tally
from dragoman.reporting.html import render_page
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.text.other_language import is_detectable

Tile = tuple[str, str, str]
"""Name, value and remark of a large number."""

_MAX_LANGUAGES = 5
_MAX_UNKNOWN = 40


def render_check_page(report: CheckReport, *, title: str) -> str:
    """Render the page, to be written as UTF-8."""
    return render_page(
        "check.html",
        title=title,
        styles=("palette.css", "page.css", "check.css"),
        report=report,
        verdict=verdict(report),
        overview=_overview(report),
        waterfall=_waterfall(report),
        languages=list(_languages(report)),
        max_unknown=_MAX_UNKNOWN,
        samples=[(heading, _by_count(tally)) for heading, tally in _tallies(report) if tally.counts],
    )


def _overview(report: CheckReport) -> list[Tile]:
    own = training(report)
    read = sum(corpus.summary.records for corpus in own)
    faults = merged(report.corpora, "faults").total
    duplicates = sum(count for kind, count in report.selection.drops.counts.items() if not is_leak(kind))
    dropped = merged(own, "drops").total
    kept = report.selection.kept
    return [
        ("training pairs", f"{read:,}", f"in {format_count(len(own), 'corpus', 'corpora')}"),
        ("kept", f"{kept:,}", format_percent(kept, read)),
        ("bad lines", f"{faults:,}", "in all corpora"),
        ("dropped", f"{dropped:,}", f"{format_percent(dropped, read)}, by cleaning"),
        ("leaked", f"{sum(leaks(report).values()):,}", "also in held-out sets"),
        ("duplicates", f"{duplicates:,}", format_percent(duplicates, read)),
    ]


def _waterfall(report: CheckReport) -> list[tuple[str, ...]]:
    """Rows from all training pairs down to those kept: reason, stage, pairs, share, pairs left."""
    read = sum(corpus.summary.records for corpus in training(report))
    if not read:
        return []
    rows: list[tuple[str, ...]] = [("read", "", "", "", f"{read:,}")]
    rows += [
        (step.reason, step.stage, f"−{step.count:,}", format_percent(step.count, read), f"{step.left:,}")
        for step in waterfall(report)
    ]
    if report.selection.cleaned:
        kept = report.selection.kept
        rows.append(("", "", "", format_percent(kept, read), f"{kept:,}"))
    return rows


def _languages(report: CheckReport) -> Iterator[tuple[str, str, str, list[str]]]:
    """Corpus, side, expected language and detected languages."""
    for corpus, side, expected, shares in languages(report):
        detected = [f"{language} {format_percent(share)}" for language, share in list(shares.items())[:_MAX_LANGUAGES]]
        if not is_detectable(expected):
            detected = [f"{expected} cannot be detected; looks like", *detected]
        yield corpus.side_name(side), side, expected, detected


def _tallies(report: CheckReport) -> Iterator[tuple[str, Tally]]:
    yield "Bad lines", merged(report.corpora, "faults")
    yield "Dropped by cleaning", merged(report.corpora, "drops")
    yield "Leaks and duplicates", report.selection.drops
    if report.tokens:
        yield "Too many tokens", report.tokens.too_long_examples
    yield "Repaired", merged(report.corpora, "repairs")
    yield "Noted", merged(report.corpora, "notes")


def _by_count(tally: Tally) -> list[tuple[str, int, list[object]]]:
    """Reasons with their counts and examples, the most frequent first."""
    ordered = sorted(tally.counts.items(), key=lambda item: (-item[1], item[0]))
    return [(reason, count, list(tally.examples.get(reason, []))) for reason, count in ordered]
