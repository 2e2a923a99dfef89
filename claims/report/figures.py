"""Figures of the report: the effects of each claim."""

from __future__ import annotations

import math
from typing import Literal

from claims.ledger.claim import Comparison
from claims.ledger.measures import measure
from claims.ledger.verdict import ClaimResult, ClaimVerdict, ComparisonResult
from claims.report.forest_plot import ForestPanel, ForestRow, Interval, forest_plot_svg
from claims.report.phrases import Phrases

_LEVEL = 0.05
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
        groups.setdefault(each.effect.comparison.measure, []).append(_row(each, label, word))
    panels = [ForestPanel(word.unit(measure(name).unit), rows) for name, rows in groups.items()]
    title = f"{claim.id} {claim.texts(word.language).title}{word('colon')}{word(result.verdict)}"
    return forest_plot_svg(title, panels, legend=_legend(word))


def _row(each: ComparisonResult, label: str, word: Phrases) -> ForestRow:
    has_interval = not math.isinf(each.interval[0])
    return ForestRow(
        label,
        each.effect.value,
        each.effect.interval(_LEVEL) if has_interval else None,
        each.interval if has_interval else None,
        _region(each.effect.comparison),
        _KINDS[each.verdict],
        word(each.verdict) if has_interval else word("one-seed"),
    )


def _region(comparison: Comparison) -> Interval:
    """Return the effects for which a comparison holds."""
    least = comparison.smallest_effect
    return (-least, least) if comparison.rule == "equivalence" else (least, math.inf)


def _legend(word: Phrases) -> list[str]:
    return [word(f"legend-{part}") for part in ("inner", "outer", "least", "holds")]
