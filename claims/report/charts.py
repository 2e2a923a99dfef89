"""Charts of the report: scores by variant and seed, by search, by length, coverage, and samples of probes.

Which of them a claim has follows from its variants and comparisons. Everything is computed from the records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from claims.ledger.claim import Claim, Term
from claims.ledger.measures import measure, term_counts
from claims.ledger.record import MAIN_SEARCH, MissingStatisticsError, ModelRecord
from claims.report.dot_plot import DotPanel, DotRow, dot_plot_svg
from claims.report.line_figure import line_figure_svg
from claims.report.names import condition_name, probe_names, size_of, term_name, variant_name
from claims.report.phrases import Phrases
from dragoman.reporting.line_chart import Scale, Series

_LENGTHS = (14, 24, 36, 48, 60)  # most source words of the groups of texts, except the last one
_MIN_POINTS = 3  # of a curve
_FAMILIES = ("beam", "keep")  # searches that differ by a number

Records = Mapping[str, Sequence[ModelRecord]]


@dataclass(frozen=True)
class Chart:
    """A figure of a claim: the name of its file, its title and its content."""

    name: str
    title: str
    svg: str


def claim_charts(claim: Claim, records: Records, word: Phrases) -> list[Chart]:
    """Draw all charts of a claim for which there are records."""
    found = [_score_chart(claim, records, word)]
    found += [_search_chart(claim, records, family, word) for family in _FAMILIES]
    found += [_length_chart(claim, records, word), _coverage_chart(claim, records, word)]
    found += [_probe_chart(claim, name, records, word) for name, each in claim.variants.items() if each.probe]
    return [chart for chart in found if chart is not None and chart.svg]


def seed_scores(name: str, term: Term, records: Records) -> list[float]:
    """Return the score of a term for each seed whose record has its statistics."""
    found = measure(name)
    scores = []
    for record in records.get(term.variant, ()):
        try:
            totals = term_counts(found, term, record).sum(0)
        except MissingStatisticsError:
            continue
        scores.append(float(found.score(totals)))
    return scores


def is_geometric(claim: Claim, variant: str) -> bool:
    """Whether the samples of a probe are compared by their logarithms."""
    return any(each.measure == "log2" for each in claim.comparisons for term in each.terms if term.variant == variant)


def sample_mean(claim: Claim, variant: str) -> Callable[[Sequence[float]], float]:
    """Return the mean that fits the samples of a probe."""
    return _geometric_mean if is_geometric(claim, variant) else _mean


def condition_samples(records: Sequence[ModelRecord]) -> dict[str, list[list[float]]]:
    """Return the samples of each condition of a probe, by seed."""
    return {name: [record.facts["samples"][name] for record in records] for name in records[0].facts["samples"]}


def _models(claim: Claim) -> list[str]:
    return [name for name, variant in claim.variants.items() if not variant.probe]


def _score_chart(claim: Claim, records: Records, word: Phrases) -> Chart | None:
    """Scores of all terms that are scores of models; BLEU of the variants if no comparison is about it.

    Searches of which there is a curve are left out.
    """
    curves = {f"{family}-{number}" for family in _FAMILIES for number in _search_numbers(claim, family)}
    terms: dict[str, dict[tuple[object, ...], Term]] = {}
    for each in claim.comparisons:
        of_measure = terms.setdefault(each.measure, {})
        for term in each.terms:
            if not claim.variants[term.variant].probe and term.search not in curves:
                of_measure.setdefault((term.variant, term.search, tuple(term.words)), term)
    if "bleu" not in terms:
        terms["bleu"] = {(name,): Term(variant=name) for name in _models(claim)}
    order = list(claim.variants)
    panels = []
    for name, some in terms.items():
        digits = ".2f" if name == "bleu" else ".3g"
        rows = [
            DotRow(term_name(claim, term, word), scores, _mean(scores), f"{_mean(scores):{digits}}")
            for term in sorted(some.values(), key=lambda term: order.index(term.variant))
            if (scores := seed_scores(name, term, records))
        ]
        if rows:
            panels.append(DotPanel(word.unit(measure(name).unit), rows))
    title = word("chart-scores")
    return _dots("scores", claim, title, panels, word) if panels else None


def _search_numbers(claim: Claim, family: str) -> list[int]:
    """Return the numbers of the searches of a family that a claim names. Empty if they are too few for a curve."""
    named = {MAIN_SEARCH, *claim.searches, *(term.search for each in claim.comparisons for term in each.terms)}
    numbers = sorted(int(name.rpartition("-")[2]) for name in named if re.fullmatch(rf"{family}-\d+", name))
    return numbers if len(numbers) >= _MIN_POINTS else []


def _search_chart(claim: Claim, records: Records, family: str, word: Phrases) -> Chart | None:
    """BLEU by the number of a search, such as the width of the beam."""
    numbers = _search_numbers(claim, family)
    if not numbers:
        return None

    def scores(variant: str, number: int) -> list[float]:
        return seed_scores("bleu", Term(variant=variant, search=f"{family}-{number}"), records)

    lines = {
        variant_name(claim, variant, word): [(math.log2(number), scores(variant, number)) for number in numbers]
        for variant in _models(claim)
    }
    across = _categories(word(f"axis-{family}"), {math.log2(number): str(number) for number in numbers}, word)
    return _curves(family, claim, word(f"chart-{family}"), lines, (across, _bleu_scale()), word)


def _length_chart(claim: Claim, records: Records, word: Phrases) -> Chart | None:
    """BLEU by the number of source words, for claims about lengths."""
    if not any(term.words for each in claim.comparisons for term in each.terms):
        return None
    known = [record.source_words for some in records.values() for record in some if "test" in record.facts]
    if not known:
        return None
    ends = [*_LENGTHS, 10**6]
    ranges = list(zip([1, *(last + 1 for last in _LENGTHS)], ends, strict=True))
    counts = {each: int(((known[0] >= each[0]) & (known[0] <= each[1])).sum()) for each in ranges}
    used = [each for each in ranges if counts[each]]
    names = [f"≥ {low}" if high == ends[-1] else f"{low}–{high}" for low, high in used]

    def scores(variant: str, low: int, high: int) -> list[float]:
        return seed_scores("bleu", Term(variant=variant, words=[low, high]), records)

    lines = {
        variant_name(claim, variant, word): [(float(at), scores(variant, *each)) for at, each in enumerate(used)]
        for variant in _models(claim)
    }
    across = _categories(word("axis-length"), dict(enumerate(names)), word)
    note = word("chart-length-note", counts=word("comma").join(str(counts[each]) for each in used))
    return _curves("length", claim, word("chart-length"), lines, (across, _bleu_scale()), word, note=note)


def _coverage_chart(claim: Claim, records: Records, word: Phrases) -> Chart | None:
    """Shares of source tokens by their total weight, for claims about coverage."""
    if not any(each.measure.startswith("coverage-") for each in claim.comparisons):
        return None
    lines = {}
    for variant in _models(claim):
        term = Term(variant=variant)
        below = seed_scores("coverage-uncovered", term, records)
        above = seed_scores("coverage-overcovered", term, records)
        middle = [1 - low - high for low, high in zip(below, above, strict=True)]
        lines[variant_name(claim, variant, word)] = [(0.0, below), (1.0, middle), (2.0, above)]
    across = _categories(word("axis-coverage"), {0.0: "< 0.5", 1.0: "0.5–1.5", 2.0: "> 1.5"}, word)
    up = Scale(word("axis-coverage-share"), "{:.2g}".format)
    return _curves("coverage", claim, word("chart-coverage"), lines, (across, up), word)


def _probe_chart(claim: Claim, variant: str, records: Records, word: Phrases) -> Chart | None:
    """Samples of a probe: curves if its conditions have sizes, rows of points if not."""
    some = records.get(variant, ())
    if not some:
        return None
    probe = claim.variants[variant].probe
    names = probe_names(probe)
    unit = names.unit[word.language]
    mean = sample_mean(claim, variant)
    means = {
        each: [mean(values) for values in by_seed]
        for each, by_seed in condition_samples(some).items()
        if not names.drawn or size_of(each)[0] in names.drawn
    }
    sizes = sorted({size for condition in means if (size := size_of(condition)[1]) is not None})
    if len(sizes) < _MIN_POINTS:
        rows = [
            DotRow(condition_name(names, each, word), values, mean(values), f"{mean(values):.3g}")
            for each, values in means.items()
        ]
        return _dots(probe, claim, word("chart-probe", unit=unit), [DotPanel(unit, rows)], word)
    lines: dict[str, list[tuple[float, list[float]]]] = {}
    for condition, values in means.items():
        name, size = size_of(condition)
        if size is not None:
            label = condition_name(names, name, word) or word("legend-mean")
            lines.setdefault(label, []).append((math.log2(size), values))
    label = names.size_axis.get(word.language, "")
    across = _categories(label, {math.log2(size): f"{size:,}" for size in sizes}, word)
    up = Scale(unit, "{:.3g}".format, is_log=is_geometric(claim, variant))
    title = word("chart-by-size", unit=f"{unit[0].upper()}{unit[1:]}", size=label)
    return _curves(probe, claim, title, lines, (across, up), word, mean=mean)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.log(values).mean()))


def _bleu_scale() -> Scale:
    return Scale("BLEU", "{:.4g}".format)


def _categories(label: str, ticks: Mapping[float, str], word: Phrases) -> Scale:
    return Scale(label, "{:g}".format, list(ticks.items()), position=word("chart-position"))


def _dots(name: str, claim: Claim, title: str, panels: Sequence[DotPanel], word: Phrases) -> Chart:
    legend = [word("legend-seed"), word("legend-mean")]
    return Chart(f"{claim.id}-{name}", title, dot_plot_svg(f"{claim.id} {title}", panels, legend=legend))


def _curves(
    name: str,
    claim: Claim,
    title: str,
    lines: Mapping[str, Sequence[tuple[float, Sequence[float]]]],
    scales: tuple[Scale, Scale],
    word: Phrases,
    *,
    note: str = "",
    mean: Callable[[Sequence[float]], float] = _mean,
) -> Chart:
    """Draw the mean over seeds as a line, and each seed as a point.

    `lines` has the values of the seeds by position, `scales` the horizontal and the vertical one.
    """
    known = {label: [(at, values) for at, values in points if values] for label, points in lines.items()}
    known = {label: points for label, points in known.items() if points}
    drawn = []
    for number, (label, points) in enumerate(known.items()):
        drawn.append(Series(label, number, [(at, mean(values)) for at, values in points], has_dots=False))
        drawn += [Series(label, number, [(at, value)]) for at, values in points for value in values]
    notes = word("sentence-end").join(part for part in (word("chart-seeds"), note) if part)
    across, up = scales
    figure = line_figure_svg(f"{claim.id} {title}", drawn, across=across, up=up, legend=list(known), note=notes)
    return Chart(f"{claim.id}-{name}", title, figure)
