"""Figures of the report: the effects of each claim, and an overview of all claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from claims.ledger.claim import Claim, Comparison
from claims.ledger.measures import measure
from claims.ledger.verdict import ClaimResult, ClaimVerdict, ComparisonResult
from claims.report.forest_plot import ForestPanel, ForestRow, Interval, forest_plot_svg
from claims.report.phrases import Phrases

_LEVEL = 0.05
_LIMITS = (-6.0, 10.0)  # of the overview, in smallest effects
_KINDS: dict[ClaimVerdict, Literal["holds", "fails", "open"]] = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.FAILS: "fails",
    ClaimVerdict.OPEN: "open",
}


def claim_figure(result: ClaimResult, word: Phrases) -> str:
    """Draw the measured effects of a claim, one axis per measure."""
    claim = result.claim
    groups: dict[str, list[ForestRow]] = {}
    for each in result.comparisons:
        label = claim.comparison_name(each.effect.comparison, word.language)
        groups.setdefault(each.effect.comparison.measure, []).append(_row(each, label, 1.0, word))
    panels = [ForestPanel(word.unit(measure(name).unit), rows) for name, rows in groups.items()]
    title = f"{claim.id} {claim.texts(word.language).title}{word('colon')}{word(result.verdict)}"
    return forest_plot_svg(title, panels, legend=_legend(word))


def overview_figure(results: Mapping[str, ClaimResult], word: Phrases) -> str:
    """Draw all effects with an interval, divided by the absolute value of their smallest effect. Empty without any."""
    rows = [
        _row(each, f"{claim_id} {_name(result.claim, each, word)}", abs(each.effect.comparison.smallest_effect), word)
        for claim_id, result in results.items()
        for each in result.comparisons
        if each.effect.comparison.smallest_effect and not math.isinf(each.interval[0])
    ]
    if not rows:
        return ""
    return forest_plot_svg(word("overview"), [ForestPanel(word("overview-unit"), rows, _LIMITS)], legend=_legend(word))


def without_unit(results: Mapping[str, ClaimResult], word: Phrases) -> list[str]:
    """Return the effects with an interval that the overview cannot show: their smallest effect is 0."""
    return [
        f"{claim_id} {_name(result.claim, each, word)}"
        for claim_id, result in results.items()
        for each in result.comparisons
        if not each.effect.comparison.smallest_effect and not math.isinf(each.interval[0])
    ]


def _name(claim: Claim, each: ComparisonResult, word: Phrases) -> str:
    return claim.comparison_name(each.effect.comparison, word.language)


def _row(each: ComparisonResult, label: str, unit: float, word: Phrases) -> ForestRow:
    has_interval = not math.isinf(each.interval[0])
    return ForestRow(
        label,
        each.effect.value / unit,
        _divided(each.effect.interval(_LEVEL), unit) if has_interval else None,
        _divided(each.interval, unit) if has_interval else None,
        _divided(_region(each.effect.comparison), unit),
        _KINDS[each.verdict],
        word(each.verdict) if has_interval else word("one-seed"),
    )


def _region(comparison: Comparison) -> Interval:
    """Return the effects for which a comparison holds."""
    least = comparison.smallest_effect
    return (-least, least) if comparison.rule == "equivalence" else (least, math.inf)


def _divided(interval: Interval, unit: float) -> Interval:
    return interval[0] / unit, interval[1] / unit


def _legend(word: Phrases) -> list[str]:
    return [word(f"legend-{part}") for part in ("inner", "outer", "least", "holds")]
