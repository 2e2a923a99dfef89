"""The histograms of the page: lengths of both sides, the ratio between them, and pieces."""

from __future__ import annotations

from math import log

from dragoman.data.check.charts import Axis, chart, linear_columns, log_columns, quantile
from dragoman.data.check.figures import counted, percent
from dragoman.data.check.findings import histogram, most_pieces
from dragoman.data.check.markup import plain
from dragoman.data.check.report import Pieces, Report
from dragoman.data.preparation.summary import LENGTH_BINS, RATIO_BINS

__all__ = ["length_charts", "piece_charts"]

_LENGTHS, _RATIOS = LENGTH_BINS.tolist(), RATIO_BINS.tolist()
_LENGTH_TICKS = (1, 3, 10, 30, 100, 300, 1000)
_RATIO_TICKS = ((1 / 8, "⅛"), (1 / 4, "¼"), (1 / 2, "½"), (1, "1"), (2, "2"), (4, "4"), (8, "8"))


def length_charts(report: Report) -> list[str]:
    """Figures of what was read of all training corpora, bad lines excepted; none if there is nothing to show."""
    charts = [
        _lengths(report, "source", report.source),
        _lengths(report, "target", report.target),
        _ratios(report),
    ]
    return [drawn for drawn in charts if drawn]


def _lengths(report: Report, side: str, language: str) -> str:
    counts = histogram(report, f"{side}_characters")
    if not sum(counts):
        return ""
    columns, low, high = log_columns(counts, _LENGTHS, "characters")
    median, most = (quantile(counts, _LENGTHS, share) for share in (0.5, 0.95))
    ticks = [((log(tick) - low) / (high - low), f"{tick:,}") for tick in _LENGTH_TICKS]
    marks = [((log(median) - low) / (high - low), f"half are shorter than {median:,.0f}", "mark")]
    remark = f"characters; 95 % have fewer than {most:,.0f}"
    title = f"Length of the {side} side ({plain(language)})"
    words = f"Half of {counted(sum(counts), 'pair')} have fewer than {median:,.0f} characters. {remark.capitalize()}."
    drawn = chart(title, words, columns, Axis(ticks, marks), name=f"length-{side}", kind=side)
    return _figure(title, remark, drawn)


def _ratios(report: Report) -> str:
    counts = histogram(report, "ratio")
    if not sum(counts):
        return ""
    columns, low, high = log_columns(counts, _RATIOS, "times as long")
    median = quantile(counts, _RATIOS, 0.5)
    few, many = (quantile(counts, _RATIOS, share) for share in (0.025, 0.975))
    ticks = [((log(tick) - low) / (high - low), label) for tick, label in _RATIO_TICKS]
    marks = [((log(median) - low) / (high - low), f"median {median:.2f}", "mark")]
    remark = f"target characters by source characters; 95 % lie between {few:.2f} and {many:.2f}"
    title = "Ratio of the lengths"
    words = f"The median of {counted(sum(counts), 'pair')} is {median:.2f}; {remark}."
    return _figure(title, remark, chart(title, words, columns, Axis(ticks, marks), name="ratio", kind="ratio"))


def piece_charts(pieces: Pieces) -> list[str]:
    """A figure of each side's pieces, with the line beyond which pairs are left out."""
    return [_pieces(pieces, side, counts) for side, counts in pieces.histograms.items() if sum(counts)]


def _pieces(pieces: Pieces, side: str, counts: list[int]) -> str:
    limit = most_pieces(pieces)
    columns, line = linear_columns(counts, pieces.too_long, "pieces")
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 10**9) if limit / step <= 6)
    # the columns of 0 to `limit` end half a column before the line
    end = columns[-2].right
    ticks = [((tick + 0.5) / (limit + 1) * end, f"{tick:,}") for tick in range(0, limit, step) if tick < 0.93 * limit]
    median = quantile(counts, [float(number) for number in range(len(counts))], 0.5) - 1
    too_long = f"{pieces.too_long:,} ({percent(pieces.too_long, pieces.sampled)}) have too many on a side"
    remark = f"half have at most {median:,.0f}; {too_long}"
    title = f"Pieces of the {plain(side)} side"
    words = f"Of {counted(pieces.sampled, 'sampled pair')}, {remark}."
    axis = Axis(ticks, [(line, f"max_pieces {limit:,}", "limit")])
    kind = "source" if side == "source" else "target"
    return _figure(title, remark, chart(title, words, columns, axis, name=f"pieces-{kind}", kind=kind))


def _figure(title: str, remark: str, drawn: str) -> str:
    return f'<figure class="card"><figcaption>{title} <span>{remark}</span></figcaption>{drawn}</figure>'
