"""Draw the histograms of the corpus-check page: sentence lengths, length ratios and tokens per sentence."""

from __future__ import annotations

from math import log

from dragoman.data.check.check_findings import histogram, most_tokens
from dragoman.data.check.report_types import CheckReport, TokenStatistics
from dragoman.data.preparation.corpus_summary import LENGTH_BINS, RATIO_BINS
from dragoman.reporting.histogram import Axis, histogram_svg, linear_bars, log_bars, quantile
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.reporting.safe_display_text import visible

__all__ = ["length_charts", "token_charts"]

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
    return [_tokens(tokens, side, counts) for side, counts in tokens.histograms.items() if sum(counts)]


def _tokens(tokens: TokenStatistics, side: str, counts: list[int]) -> Chart:
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
