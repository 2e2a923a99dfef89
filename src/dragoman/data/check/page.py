"""Render the report of ``dragoman check`` as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.check.check_findings import is_leak, languages, leaks, merged, training, verdict, waterfall
from dragoman.data.check.histograms import length_charts, token_charts
from dragoman.data.check.report_types import CheckReport
from dragoman.data.reason_counts import Tally
from dragoman.reporting.histogram import bar_svg, waterfall_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.number_format import (
    format_approximate,
    format_bytes,
    format_compact,
    format_count,
    format_duration,
    format_percent,
)
from dragoman.text.other_language import is_detectable

__all__ = ["render_check_page"]

Tile = tuple[str, str, str]
"""Name, value and remark of a large number."""

_MAX_LANGUAGES = 5
_MAX_UNKNOWN = 40


def render_check_page(report: CheckReport, *, title: str) -> str:
    """Render the page, to be written as UTF-8."""
    tokens = report.tokens
    return render_page(
        "check.html",
        title=title,
        styles=("palette.css", "page.css", "check.css"),
        report=report,
        verdict=verdict(report),
        overview=_overview(report),
        waterfall=_waterfall(report),
        lengths=length_charts(report),
        languages=list(_languages(report)),
        tokens=None if tokens is None else _tokens(report),
        token_charts=[] if tokens is None else token_charts(tokens),
        training=_training(report),
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
    """Rows from all training pairs down to those kept: reason, stage, pairs, share, pairs left, bar."""
    read = sum(corpus.summary.records for corpus in training(report))
    if not read:
        return []
    rows: list[tuple[str, ...]] = [("read", "", "", "", f"{read:,}", waterfall_svg(read, 0, read))]
    rows += [
        (
            step.reason,
            step.stage,
            f"−{step.count:,}",
            format_percent(step.count, read),
            f"{step.left:,}",
            waterfall_svg(step.left, step.count, read),
        )
        for step in waterfall(report)
    ]
    if report.selection.cleaned:
        kept = report.selection.kept
        rows.append(("", "", "", format_percent(kept, read), f"{kept:,}", waterfall_svg(kept, 0, read)))
    return rows


def _languages(report: CheckReport) -> Iterator[tuple[str, str, str, list[str], str]]:
    """Corpus, side, expected language, detected languages and a bar of the expected one."""
    for corpus, side, expected, shares in languages(report):
        detected = [f"{language} {format_percent(share)}" for language, share in list(shares.items())[:_MAX_LANGUAGES]]
        if not is_detectable(expected):
            detected = [f"{expected} cannot be detected; looks like", *detected]
            yield corpus.side_name(side), side, expected, detected, ""
            continue
        share = shares.get(expected, 0.0)
        kind = "over" if max(shares.values()) > share else side
        yield corpus.side_name(side), side, expected, detected, bar_svg(share, kind)


def _tokens(report: CheckReport) -> dict[str, object]:
    tokens = report.tokens
    assert tokens is not None
    joint = tokens.vocabulary.get("both")
    rows = [
        (
            side,
            f"{tokens.vocabulary[side]:,}" if joint is None else f"{joint:,} (joint)",
            f"{per_word:.2f}",
            format_percent(tokens.unknown.get(side, 0)),
        )
        for side, per_word in tokens.per_word.items()
    ]
    too_long = f"{tokens.too_long:,} of {format_count(tokens.sampled, 'sampled pair')}"
    share = format_percent(tokens.too_long, tokens.sampled)
    return {
        "kind": tokens.kind,
        "too_long": f"{too_long} ({share})",
        "rows": rows,
        "unknown": tokens.unknown_examples[:_MAX_UNKNOWN],
    }


def _training(report: CheckReport) -> list[list[Tile]]:
    groups: list[list[Tile]] = []
    if batches := report.batches:
        groups.append(
            [
                (
                    "batches per epoch",
                    f"{batches.batches:,}",
                    f"{batches.target_tokens:,} target tokens including end tokens",
                ),
                ("padding", format_percent(batches.padding), "of all cells of both sides"),
                ("fill", format_percent(batches.fill), "of the token budget"),
            ]
        )
    if cost := report.cost:
        updates = f"{format_count(cost.updates, 'update')}, {format_approximate(cost.epochs)} epochs"
        groups.append(
            [
                ("parameters", format_compact(cost.parameters), f"{cost.parameters:,}"),
                ("memory", format_bytes(cost.memory_bytes), "while training"),
                ("speed", f"{format_compact(cost.tokens_per_second)}/s", "target tokens"),
                ("time", format_duration(cost.seconds), updates),
            ]
        )
    return groups


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
