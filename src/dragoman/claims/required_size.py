"""Estimate how many test sentences would decide a comparison that more seeds cannot decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from dragoman.claims.claim import Comparison
from dragoman.claims.measures import measure, term_counts
from dragoman.claims.record import ModelRecord
from dragoman.claims.verdict import ComparisonResult

__all__ = ["distance_to_limit", "sentence_count", "sentence_factor"]


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
    quantile = NormalDist().inv_cdf(1 - result.alpha / 2)
    half_width = quantile * float(result.effect.sentence_part.std())
    distance = distance_to_limit(result)
    if distance > half_width:
        return None
    return math.inf if distance == 0 else (half_width / distance) ** 2


def sentence_count(comparison: Comparison, records: Mapping[str, Sequence[ModelRecord]]) -> int | None:
    """Return the number of test sentences, or rounds of a probe, of a comparison. None without records."""
    term = comparison.terms[0]
    found = next(iter(records.get(term.variant, ())), None)
    return None if found is None else len(term_counts(measure(comparison.measure), term, found))
