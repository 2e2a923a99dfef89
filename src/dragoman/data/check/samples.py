"""The samples of the page: the first places of everything that was found bad, mended, dropped or worth a note."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.check.figures import counted
from dragoman.data.check.findings import merged
from dragoman.data.check.markup import plain, shown
from dragoman.data.check.report import Report
from dragoman.data.tally import Example, Tally

__all__ = ["samples"]


def samples(report: Report) -> str:
    """Each reason with its examples, closed until somebody opens it."""
    return "\n".join(
        f'<h3>{heading}</h3><div class="card">{_reasons(tally, report)}</div>'
        for heading, tally in _tallies(report)
        if tally.counts
    )


def _tallies(report: Report) -> Iterator[tuple[str, Tally]]:
    yield "Bad lines", merged(report.corpora, "faults")
    yield "Dropped by cleaning", merged(report.corpora, "drops")
    yield "Leaks and duplicates", report.selection.drops
    if report.pieces:
        yield "Too many pieces", report.pieces.too_long_examples
    yield "Mended", merged(report.corpora, "repairs")
    yield "Noted", merged(report.corpora, "notes")


def _reasons(tally: Tally, report: Report) -> str:
    by_count = sorted(tally.counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(_reason(reason, count, tally.examples.get(reason, []), report) for reason, count in by_count)


def _reason(reason: str, count: int, examples: list[Example], report: Report) -> str:
    entries = "".join(_sample(example, report) for example in examples)
    first = f"; the first {len(examples)}" if 0 < len(examples) < count else ""
    listed = f'<ol class="samples">{entries}</ol>' if entries else '<p class="soft">No places were kept.</p>'
    return (
        f"<details><summary>{shown(reason)} <span>{counted(count, 'time')}{first}</span></summary>{listed}</details>\n"
    )


def _sample(example: Example, report: Report) -> str:
    place = example.place if example.file else f"line {example.line}"
    detail = f" · {shown(example.detail)}" if example.detail else ""
    sides = [("source", report.source, example.source), ("target", report.target, example.target)]
    texts = "".join(
        f'<p class="{side}" lang="{plain(language)}" dir="auto">{shown(text)}</p>'
        for side, language, text in sides
        if text
    )
    empty = "" if texts else '<p class="soft">(no text)</p>'
    return f'<li><p class="place"><bdi>{shown(place)}</bdi>{detail}</p>{texts}{empty}</li>'
