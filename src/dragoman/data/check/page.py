"""Render the report of ``dragoman check`` as one self-contained HTML page, with its histograms."""

from collections.abc import Iterator
from math import log

from dragoman.data.check.check_findings import (
    histogram,
    languages,
    leaks,
    merged,
    most_tokens,
    training,
    verdict,
    waterfall,
)
from dragoman.data.check.report_types import CheckReport, TokenStatistics
from dragoman.data.preparation.selected_pairs import is_leak
from dragoman.data.reason_counts import LENGTH_BINS, RATIO_BINS, Tally
from dragoman.reporting.histogram import Axis, bar_svg, histogram_svg, linear_bars, log_bars, quantile, waterfall_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.number_format import (
    format_count,
    format_percent,
)
from dragoman.reporting.safe_display_text import visible
from dragoman.text.other_language import is_detectable

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
        token_charts=[] if tokens is None else token_charts(tokens),
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


_LENGTHS, _RATIOS = LENGTH_BINS.tolist(), RATIO_BINS.tolist()
_LENGTH_TICKS = (1, 3, 10, 30, 100, 300, 1000)
_RATIO_TICKS = ((1 / 8, "⅛"), (1 / 4, "¼"), (1 / 2, "½"), (1, "1"), (2, "2"), (4, "4"), (8, "8"))


Chart = tuple[str, str, str]
"""Title, remark and SVG."""


def length_charts(report: CheckReport) -> list[Chart]:
    """Draw the lengths of the pairs read from all training corpora, without bad lines."""
    charts = [
        _lengths(report, "source", report.source),
        _lengths(report, "target", report.target),
        _ratios(report),
    ]
    return [chart for chart in charts if chart is not None]


def _lengths(report: CheckReport, side: str, language: str) -> Chart | None:
    counts = histogram(report, f"{side}_characters")
    if not sum(counts):
        return None
    bars, low, high = log_bars(counts, _LENGTHS, "characters")
    median, most = (quantile(counts, _LENGTHS, share) for share in (0.5, 0.95))
    ticks = [((log(tick) - low) / (high - low), f"{tick:,}") for tick in _LENGTH_TICKS]
    marks = [((log(median) - low) / (high - low), f"half are shorter than {median:,.0f}", "mark")]
    remark = f"characters; 95 % have fewer than {most:,.0f}"
    title = f"Length of the {side} side ({visible(language)})"
    words = (
        f"Half of {format_count(sum(counts), 'pair')} have fewer than {median:,.0f} characters. {remark.capitalize()}."
    )
    return title, remark, histogram_svg(title, words, bars, Axis(ticks, marks), name=f"length-{side}", kind=side)


def _ratios(report: CheckReport) -> Chart | None:
    counts = histogram(report, "ratio")
    if not sum(counts):
        return None
    bars, low, high = log_bars(counts, _RATIOS, "times as long")
    median = quantile(counts, _RATIOS, 0.5)
    few, many = (quantile(counts, _RATIOS, share) for share in (0.025, 0.975))
    ticks = [((log(tick) - low) / (high - low), label) for tick, label in _RATIO_TICKS]
    marks = [((log(median) - low) / (high - low), f"median {median:.2f}", "mark")]
    remark = f"target characters by source characters; 95 % lie between {few:.2f} and {many:.2f}"
    title = "Ratio of the lengths"
    words = f"The median of {format_count(sum(counts), 'pair')} is {median:.2f}; {remark}."
    return title, remark, histogram_svg(title, words, bars, Axis(ticks, marks), name="ratio", kind="ratio")


def token_charts(tokens: TokenStatistics) -> list[Chart]:
    """Draw the tokens of each side, with the limit above which pairs are left out."""
    return [_token_chart(tokens, side, counts) for side, counts in tokens.histograms.items() if sum(counts)]


def _token_chart(tokens: TokenStatistics, side: str, counts: list[int]) -> Chart:
    limit = most_tokens(tokens)
    bars, line = linear_bars(counts, tokens.too_long, "tokens")
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 10**9) if limit / step <= 6)
    end = bars[-2].right  # the bars of 0 to `limit` end half a bar before the line
    ticks = [((tick + 0.5) / (limit + 1) * end, f"{tick:,}") for tick in range(0, limit, step) if tick < 0.93 * limit]
    median = quantile(counts, [float(number) for number in range(len(counts))], 0.5) - 1
    too_long = f"{tokens.too_long:,} ({format_percent(tokens.too_long, tokens.sampled)}) have too many on a side"
    remark = f"half have at most {median:,.0f}; {too_long}"
    title = f"Tokens of the {visible(side)} side"
    words = f"Of {format_count(tokens.sampled, 'sampled pair')}, {remark}."
    axis = Axis(ticks, [(line, f"max_tokens {limit:,}", "limit")])
    kind = "source" if side == "source" else "target"
    return title, remark, histogram_svg(title, words, bars, axis, name=f"tokens-{kind}", kind=kind)
