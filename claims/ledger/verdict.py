"""Decide on claims: three verdicts, with Holm's correction over the comparisons of a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from claims.ledger.claim import Claim, Comparison
from claims.ledger.effect import RESAMPLES, Effect, compute_effect
from claims.ledger.measures import has_counts
from claims.ledger.record import ModelRecord


class ClaimVerdict(StrEnum):
    """What an experiment shows about a claim."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    OPEN = "cannot be told at this size"  # old-words: ok


_PRECISION = 40  # bisections of a p-value


@dataclass(frozen=True)
class ComparisonResult:
    """The effect of a comparison, its interval at the level of Holm's correction, and the verdict on it."""

    effect: Effect
    interval: tuple[float, float]
    alpha: float
    """Error rate of the interval."""
    verdict: ClaimVerdict


@dataclass(frozen=True)
class ClaimResult:
    """The verdict on a claim. `seeds` is the smallest number of seeds of a measured variant.

    A comparison stays open until all its seeds are measured: repeated decisions, after each seed, would be wrong more
    often. A claim of which only some comparisons are measured stays open, unless one of them decides it.
    """

    claim: Claim
    verdict: ClaimVerdict
    comparisons: tuple[ComparisonResult, ...]
    unmeasured: tuple[Comparison, ...]
    seeds: int
    cpu_seconds: float

    @property
    def unmet(self) -> list[ComparisonResult]:
        """Measured preconditions that do not hold."""
        return [
            each
            for each in self.comparisons
            if each.effect.comparison.is_precondition and each.verdict != ClaimVerdict.HOLDS
        ]


def decide(claim: Claim, records: Mapping[str, Sequence[ModelRecord]], *, resamples: int = RESAMPLES) -> ClaimResult:
    """Decide on a claim from the records of its variants.

    Comparisons that lack records, or whose records lack statistics, are not measured.
    """
    effects, unmeasured = [], []
    for comparison in claim.comparisons:
        usable = {
            name: [record for record in records.get(name, ()) if has_counts(comparison, name, record)]
            for name in {term.variant for term in comparison.terms}
        }
        if all(usable.values()):
            effects.append(compute_effect(comparison, usable, resamples=resamples))
        else:
            unmeasured.append(comparison)
    results = holm(effects, claim.alpha, comparisons=len(claim.comparisons), seeds=claim.seeds)
    models = {record.facts["key"]: record for some in records.values() for record in some}
    return ClaimResult(
        claim,
        _combined(results, unmeasured, claim.holds_if),
        tuple(results),
        tuple(unmeasured),
        min((len(some) for some in records.values() if some), default=0),
        sum(record.cpu_seconds for record in models.values()),
    )


def holm(effects: Sequence[Effect], alpha: float, *, comparisons: int = 0, seeds: int = 1) -> list[ComparisonResult]:
    """Decide on several effects with a common error rate. Paper: [holm1979].

    The effect with the smallest p-value is decided at alpha/m, the next one at alpha/(m − 1), and so on, up to the
    first one that stays open; the rest stays open too. m is the number of `comparisons`, of effects by default. An
    effect of fewer than `seeds` seeds stays open, and comes last.
    """
    total = comparisons or len(effects)
    lacks_seeds = [effect.seeds < seeds for effect in effects]
    order = sorted(range(len(effects)), key=lambda place: (lacks_seeds[place], _p_value(effects[place])))
    results: dict[int, ComparisonResult] = {}
    is_open = False
    for rank, place in enumerate(order):
        level = alpha / (total - rank)
        interval = effects[place].interval(level)
        is_open = is_open or lacks_seeds[place]
        verdict = ClaimVerdict.OPEN if is_open else decide_comparison(effects[place].comparison, interval)
        is_open = verdict == ClaimVerdict.OPEN
        results[place] = ComparisonResult(effects[place], interval, level, verdict)
    return [results[place] for place in range(len(effects))]


def decide_comparison(comparison: Comparison, interval: tuple[float, float]) -> ClaimVerdict:
    """Apply the decision rule of a comparison to the interval of its effect."""
    low, high = interval
    least = comparison.smallest_effect
    if comparison.rule == "equivalence":
        if -least < low and high < least:
            return ClaimVerdict.HOLDS
        return ClaimVerdict.FAILS if high < -least or low > least else ClaimVerdict.OPEN
    if low > least:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if high < least else ClaimVerdict.OPEN


def _p_value(effect: Effect) -> float:
    """Return the largest error rate at which the effect is still undecided."""
    if effect.freedom < 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_PRECISION):
        middle = (low + high) / 2
        if decide_comparison(effect.comparison, effect.interval(max(middle, 1e-6))) == ClaimVerdict.OPEN:
            low = middle
        else:
            high = middle
        if high - low < 1e-4:
            break
    return high


def _combined(results: Sequence[ComparisonResult], unmeasured: Sequence[Comparison], holds_if: str) -> ClaimVerdict:
    """Return the verdict on a claim; it is open unless all preconditions hold."""
    given = [(each.effect.comparison, each.verdict) for each in results]
    given += [(comparison, ClaimVerdict.OPEN) for comparison in unmeasured]
    if any(each.is_precondition and verdict != ClaimVerdict.HOLDS for each, verdict in given):
        return ClaimVerdict.OPEN
    verdicts = [verdict for each, verdict in given if not each.is_precondition]
    decisive, other = (
        (ClaimVerdict.FAILS, ClaimVerdict.HOLDS) if holds_if == "all" else (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)
    )
    if decisive in verdicts:
        return decisive
    return ClaimVerdict.OPEN if ClaimVerdict.OPEN in verdicts else other
