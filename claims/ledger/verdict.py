"""Decide on claims: four verdicts, each wrong with at most the error rate of its claim.

A verdict that needs all comparisons of a claim is an intersection–union test: each comparison has the full error rate.
A verdict for which one comparison is enough has Holm's correction. Papers: [berger1982], [holm1979].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from claims.ledger.claim import Claim, Comparison
from claims.ledger.effect import RESAMPLES, Effect, compute_effect
from claims.ledger.measures import has_counts
from claims.ledger.peers import Peers
from claims.ledger.record import ModelRecord


class ClaimVerdict(StrEnum):
    """What an experiment shows about a claim."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    OPEN = "cannot be told at this size"  # old-words: ok
    NOT_TESTED = "not tested"


_PRECISION = 40  # bisections of a p-value


@dataclass(frozen=True)
class ComparisonResult:
    """The effect of a comparison, its interval, and the verdict on it."""

    effect: Effect
    interval: tuple[float, float]
    alpha: float
    """Error rate of the interval: that of the claim, or less by Holm's correction."""
    verdict: ClaimVerdict


@dataclass(frozen=True)
class ClaimResult:
    """The verdict on a claim. `seeds` is the smallest number of seeds of a measured variant.

    A comparison stays open until all its seeds are measured: repeated decisions, after each seed, would be wrong more
    often. A claim of which only some comparisons are measured stays open, unless one of them decides it. If a measured
    precondition or control does not hold, or the experiment does not fit the claim, it is not tested.
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


def decide(
    claim: Claim,
    records: Mapping[str, Sequence[ModelRecord]],
    peers: Peers | None = None,
    *,
    resamples: int = RESAMPLES,
) -> ClaimResult:
    """Decide on a claim from the records of its variants.

    Comparisons that lack records, or whose records lack statistics, are not measured. The spread of seeds is
    pooled over `peers` where it is similar.
    """
    effects, unmeasured = [], []
    for comparison in claim.comparisons:
        usable = {
            name: [record for record in records.get(name, ()) if has_counts(comparison, name, record)]
            for name in {term.variant for term in comparison.terms}
        }
        if all(usable.values()):
            effects.append(compute_effect(comparison, usable, peers, resamples=resamples))
        else:
            unmeasured.append(comparison)
    results = decide_comparisons(effects, claim, unmeasured=len(unmeasured))
    models = {record.facts["key"]: record for some in records.values() for record in some}
    return ClaimResult(
        claim,
        _combined(results, unmeasured, claim),
        tuple(results),
        tuple(unmeasured),
        min((len(some) for some in records.values() if some), default=0),
        sum(record.cpu_seconds for record in models.values()),
    )


def decide_comparisons(effects: Sequence[Effect], claim: Claim, *, unmeasured: int = 0) -> list[ComparisonResult]:
    """Decide on the effects of a claim.

    Each effect is decided alone, at the error rate of the claim. A verdict that decides the whole claim by itself must
    also pass Holm's correction: the clearest effect is decided at alpha/m, the next one at alpha/(m − 1), up to the
    first one that stays open. m is the number of comparisons, preconditions left out.
    """
    alpha, (lone, _) = claim.alpha, decisive_verdicts(claim)
    results = []
    for effect in effects:
        interval = effect.interval(alpha)
        is_complete = effect.seeds >= claim.seeds
        verdict = decide_comparison(effect.comparison, interval) if is_complete else ClaimVerdict.OPEN
        results.append(ComparisonResult(effect, interval, alpha, verdict))
    family = [place for place, each in enumerate(results) if not each.effect.comparison.is_precondition]
    alone = sorted((_p_value(effects[place]), place) for place in family if results[place].verdict == lone)
    is_open = False
    for rank, (_, place) in enumerate(alone):
        effect, level = effects[place], alpha / (len(family) + unmeasured - rank)
        interval = effect.interval(level)
        is_open = is_open or decide_comparison(effect.comparison, interval) != lone
        results[place] = ComparisonResult(effect, interval, level, ClaimVerdict.OPEN if is_open else lone)
    return results


def decisive_verdicts(claim: Claim) -> tuple[ClaimVerdict, ClaimVerdict]:
    """Return the verdict for which one comparison is enough, and the one that requires all."""
    if claim.holds_if == "all":
        return ClaimVerdict.FAILS, ClaimVerdict.HOLDS
    return ClaimVerdict.HOLDS, ClaimVerdict.FAILS


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


def _combined(results: Sequence[ComparisonResult], unmeasured: Sequence[Comparison], claim: Claim) -> ClaimVerdict:
    """Return the verdict on a claim."""
    if claim.unfit:
        return ClaimVerdict.NOT_TESTED
    conditions = [each for each in results if each.effect.comparison.is_precondition]
    if any(each.verdict != ClaimVerdict.HOLDS for each in conditions):
        is_complete = all(each.effect.seeds >= claim.seeds for each in conditions)
        return ClaimVerdict.NOT_TESTED if is_complete else ClaimVerdict.OPEN
    if any(comparison.is_precondition for comparison in unmeasured):
        return ClaimVerdict.OPEN
    verdicts = [each.verdict for each in results if not each.effect.comparison.is_precondition]
    verdicts += [ClaimVerdict.OPEN for _ in unmeasured]
    lone, together = decisive_verdicts(claim)
    if lone in verdicts:
        return lone
    return ClaimVerdict.OPEN if ClaimVerdict.OPEN in verdicts else together
