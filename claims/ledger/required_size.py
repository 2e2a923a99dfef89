"""Estimate how many seeds, or how many test sentences, would decide a comparison."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from claims.ledger.claim import Comparison
from claims.ledger.measures import measure, term_counts
from claims.ledger.record import ModelRecord
from claims.ledger.verdict import ClaimVerdict, ComparisonResult
from dragoman.evaluation.aggregate_members import t_quantile

MAX_SEEDS = 10_000  # more are not proposed


def distance_to_limit(result: ComparisonResult) -> float:
    """Return the distance of the effect from the nearest value at which its verdict changes."""
    least = result.effect.comparison.smallest_effect
    if result.effect.comparison.rule == "equivalence":
        return abs(abs(result.effect.value) - least)
    return abs(result.effect.value - least)


def sentence_factor(result: ComparisonResult) -> float | None:
    """Return how many times as many sentences decide a comparison with unlimited seeds, if its effect is right.

    The variance of the resampled sentences falls with their number; the seeds add nothing to it in the limit. Infinite
    if the effect equals its limit, None if the sentences of the test set are enough.
    """
    half_width = _sentence_half_width(result)
    distance = distance_to_limit(result)
    if distance > half_width:
        return None
    return math.inf if distance == 0 else (half_width / distance) ** 2


def seeds_needed(result: ComparisonResult) -> int | None:
    """Return the number of seeds per variant that would decide an undecided comparison, if its effect is right.

    The level is that of its interval. None if it is decided, if a variant has a single seed, if the sentences alone
    leave it open, or if `MAX_SEEDS` are not enough.
    """
    effect, half_width, distance = result.effect, _sentence_half_width(result), distance_to_limit(result)
    if result.verdict != ClaimVerdict.OPEN or effect.freedom < 1 or distance <= half_width:
        return None
    allowed = math.sqrt(distance**2 - half_width**2)

    def is_enough(seeds: int) -> bool:
        quantile = t_quantile(1 - result.alpha / 2, effect.freedom * (seeds - 1) // (effect.seeds - 1))
        return quantile * effect.seed_error * math.sqrt(effect.seeds / seeds) < allowed

    numbers = range(effect.seeds + 1, MAX_SEEDS + 1)
    place = bisect.bisect_left(numbers, True, key=is_enough)  # the half-width falls with the number of seeds
    return numbers[place] if place < len(numbers) else None


def _sentence_half_width(result: ComparisonResult) -> float:
    """Return the part of half of the interval that is due to sentences."""
    return NormalDist().inv_cdf(1 - result.alpha / 2) * float(result.effect.sentence_part.std())


def sentence_count(comparison: Comparison, records: Mapping[str, Sequence[ModelRecord]]) -> int | None:
    """Return the number of test sentences, or rounds of a probe, of a comparison. None without records."""
    term = comparison.terms[0]
    found = next(iter(records.get(term.variant, ())), None)
    return None if found is None else len(term_counts(measure(comparison.measure), term, found))
