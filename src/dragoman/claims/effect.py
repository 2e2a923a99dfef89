"""Effects with intervals: a hierarchical bootstrap over seeds and sentences.

Every resample draws sentences, the same for all terms, and for each variant its seeds, both with replacement. A drawn
mean of few seeds varies too little: with n seeds its variance is (n − 1)/n of that of a new sample, and the normal
quantile of a percentile interval is too small for so few values. Deviations of drawn seeds from their mean are
therefore multiplied by √(n/(n − 1)) · t/z, with the quantiles t of Student's distribution, of Σ(n − 1) degrees of
freedom, and z of the normal distribution. Papers: [koehn2004] for sentences, [clark2011] for seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dragoman.claims.claim import Comparison
from dragoman.claims.measures import measure, term_counts
from dragoman.claims.record import ModelRecord
from dragoman.errors import DataError

__all__ = ["Effect", "RESAMPLES", "SeedSampling", "compute_effect", "student_quantile"]

RESAMPLES = 2000
_SEED = 20190101
_BLOCK = 250  # resamples per matrix product


@dataclass(frozen=True)
class SeedSampling:
    """Scores of every resample of sentences, per term and seed. Shapes: scores per term [resamples, seeds]."""

    weights: tuple[float, ...]
    variants: tuple[str, ...]
    observed: tuple[NDArray[np.float64], ...]
    resampled: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class Effect:
    """The effect of a comparison, and its resamples without the correction for few seeds."""

    comparison: Comparison
    value: float
    by_seed: tuple[tuple[float, ...], ...]
    """Scores of each term, by seed."""
    sentence_part: NDArray[np.float64]
    """Effects of resampled sentences, all seeds. Shape: [resamples]."""
    seed_part: NDArray[np.float64]
    """Deviations by resampled seeds, corrected for their number. Shape: [resamples]."""
    freedom: int
    """Degrees of freedom: seeds minus variants."""

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval of level 1 − alpha; it is infinite with a single seed per variant."""
        if self.freedom < 1:
            return -math.inf, math.inf
        quantile = NormalDist().inv_cdf(1 - alpha / 2)
        values = self.sentence_part + self.seed_part * (student_quantile(1 - alpha / 2, self.freedom) / quantile)
        low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
        return float(low), float(high)

    @property
    def seed_deviation(self) -> float:
        """Standard deviation of the effect that is due to seeds."""
        return float(self.seed_part.std())


def compute_effect(
    comparison: Comparison,
    records: Mapping[str, Sequence[ModelRecord]],
    *,
    resamples: int = RESAMPLES,
    seed: int = _SEED,
) -> Effect:
    """Compute the effect of a comparison from the records of its variants, one per seed."""
    sampling = _sample_sentences(comparison, records, resamples, np.random.default_rng([seed, 0]))
    draws = np.random.default_rng([seed, 1])
    names = sorted(set(sampling.variants))  # the draws do not depend on the order of the terms
    drawn = {name: draws.integers(len(records[name]), size=(resamples, len(records[name]))) for name in names}
    sentence_part = np.zeros(resamples)
    seed_part = np.zeros(resamples)
    value = 0.0
    for weight, name, observed, resampled in zip(
        sampling.weights, sampling.variants, sampling.observed, sampling.resampled, strict=True
    ):
        count = len(records[name])
        mean = resampled.mean(1)  # [resamples]
        chosen = np.take_along_axis(resampled, drawn[name], axis=1).mean(1)
        widening = math.sqrt(count / (count - 1)) if count > 1 else 0.0
        value += weight * float(observed.mean())
        sentence_part += weight * mean
        seed_part += weight * (chosen - mean) * widening
    freedom = sum(len(records[name]) - 1 for name in names)
    by_seed = tuple(tuple(float(score) for score in observed) for observed in sampling.observed)
    return Effect(comparison, value, by_seed, sentence_part, seed_part, freedom)


def _sample_sentences(
    comparison: Comparison, records: Mapping[str, Sequence[ModelRecord]], resamples: int, draws: np.random.Generator
) -> SeedSampling:
    found = measure(comparison.measure)
    counts = [
        np.stack([term_counts(found, term, record) for record in records[term.variant]]) for term in comparison.terms
    ]  # each [seeds, sentences, statistics]
    sizes = {each.shape[1] for each in counts}
    if len(sizes) != 1:
        raise DataError(f"{comparison.name}: all variants must translate one test set, got {sorted(sizes)} sentences")
    (sentences,) = sizes
    scores: list[list[NDArray[np.float64]]] = [[] for _ in counts]
    for first in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - first)
        times = draws.multinomial(sentences, np.full(sentences, 1 / sentences), size=rows).astype(np.float64)
        for place, each in enumerate(counts):
            scores[place].append(found.score(np.einsum("rs,nsc->rnc", times, each, optimize=True)))
    return SeedSampling(
        tuple(term.weight for term in comparison.terms),
        tuple(term.variant for term in comparison.terms),
        tuple(found.score(each.sum(1)) for each in counts),
        tuple(np.concatenate(each) for each in scores),
    )


def student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's distribution, for a probability above 1/2, by bisection."""
    low, high = 0.0, 1.0
    while _student_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, freedom: int) -> float:
    """P(T ≤ t) for t ≥ 0, by the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    theta = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(theta)
    if freedom % 2:
        term, total = cosine, cosine if freedom > 1 else 0.0
        for order in range(3, freedom - 1, 2):
            term *= cosine**2 * (order - 1) / order
            total += term
        inside = 2 / math.pi * (theta + math.sin(theta) * total)
    else:
        term, total = 1.0, 1.0
        for order in range(2, freedom - 1, 2):
            term *= cosine**2 * (order - 1) / order
            total += term
        inside = math.sin(theta) * total
    return 0.5 + inside / 2
