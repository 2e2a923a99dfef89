"""Table of all verdicts: the effect that decides, the paper's own figure, seeds and CPU time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from claims.ledger.claim import Claim, Comparison
from claims.ledger.measures import measure
from claims.ledger.record import ModelRecord
from claims.ledger.required_size import distance_to_limit
from claims.ledger.verdict import ClaimResult, ComparisonResult
from claims.pool.missing_runs import RemainingRuns
from claims.report.phrases import Phrases
from dragoman.evaluation.markdown import markdown_table

_SHORT = 0.5  # minutes; less is not rounded to 0
_DIMENSIONLESS = ("share", "aer", "attention-", "coverage-", "unlinked-change")  # beginnings of names of measures


def deciding_comparison(result: ClaimResult) -> ComparisonResult:
    """Return the comparison that the table of verdicts shows.

    It is one with the verdict of the claim, or a precondition that is not met. Of several, it is the one whose effect
    is nearest to its limit, relative to the width of its interval; an effect without one comes last.
    """
    own = [each for each in result.comparisons if not each.effect.comparison.is_precondition]
    same = [each for each in own if each.verdict == result.verdict]
    return min(result.unmet or same or own or result.comparisons, key=_relative_distance)


def _relative_distance(result: ComparisonResult) -> float:
    low, high = result.interval
    return distance_to_limit(result) / (high - low) if 0 < high - low < math.inf else math.inf


def has_unit(comparison: Comparison) -> bool:
    """Whether the measure of a comparison has a unit."""
    return not comparison.measure.startswith(_DIMENSIONLESS)


def limit_text(comparison: Comparison) -> str:
    """Return the smallest effect as a condition."""
    return f"{'±' if comparison.rule == 'equivalence' else '> '}{comparison.smallest_effect:g}"


def verdict_table(
    claims: Iterable[Claim], results: Mapping[str, ClaimResult], remaining: Mapping[str, RemainingRuns], word: Phrases
) -> str:
    """Return a row per claim."""
    rows = []
    for claim in claims:
        result = results.get(claim.id)
        texts = claim.texts(word.language)
        paper = f"{texts.short_figure} [{claim.origin.paper}]" if texts.short_figure else "–"
        lacking = word("bracketed", text=_lacking(remaining[claim.id], word)) if claim.id in remaining else ""
        if result is None:
            rows.append([claim.id, texts.title, f"{word('untested')}{lacking}", "–", paper, "–", "–"])
        else:
            partly = f"{word('comma')}{word('partly')}" if result.unmeasured else ""
            verdict = f"**{word(result.verdict)}**{partly}{lacking}"
            effect = _effect(claim, deciding_comparison(result), word)
            rows.append([claim.id, texts.title, verdict, effect, paper, str(result.seeds), _minutes(result)])
    header = [word(name) for name in ("claim", "claim", "verdict", "deciding", "paper-column", "seeds", "minutes")]
    header[0] = "#"
    return markdown_table(header, rows, left=(0, 1, 2, 3, 4))


def _lacking(remaining: RemainingRuns, word: Phrases) -> str:
    return word("lacking", lacking=remaining.missing + remaining.incomplete, all=remaining.total)


def _effect(claim: Claim, result: ComparisonResult, word: Phrases) -> str:
    comparison = result.effect.comparison
    low, high = result.interval
    parts = [] if math.isinf(low) else [f"{low:.3g} … {high:.3g}"]
    parts = [part.replace(" ", "\u00a0") for part in (*parts, limit_text(comparison))]  # no line break within
    name = claim.comparison_name(comparison, word.language)
    unit = f" {word.unit(measure(comparison.measure).unit)}" if has_unit(comparison) else ""
    bracketed = word("bracketed", text=word("semicolon").join(parts))
    return f"{name}{word('colon')}{result.effect.value:.3g}{unit}{bracketed}"


def _minutes(result: ClaimResult) -> str:
    minutes = result.cpu_seconds / 60
    return f"{minutes:.0f}" if minutes >= _SHORT else "< 1"


def size_note(records: Iterable[ModelRecord], word: Phrases) -> str:
    """Return the size of the models of this ledger. Empty without any."""
    models = [record.facts["training"] for record in records if "parameters" in record.facts["training"]]
    if not models:
        return ""
    parameters = [f"{each['parameters'] / 1e6:.1f}" for each in models]
    updates = [int(each["updates"]) for each in models]
    return word(
        "our-size",
        smallest=min(parameters, key=float),
        largest=max(parameters, key=float),
        fewest=f"{min(updates):,}",
        most=f"{max(updates):,}",
    )
