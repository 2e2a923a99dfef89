"""Effects with intervals: a hierarchical bootstrap over seeds and sentences.

Every resample draws sentences with replacement, the same for all terms, and for each variant a mean of its seeds.
Three seeds drawn with replacement have 27 results, too few for the quantiles of Holm's correction; the mean is
therefore drawn from a normal distribution with the standard error of the seeds (a parametric bootstrap). Deviations are
multiplied by t/z, with the quantiles t of Student's distribution, with the degrees of freedom of Welch's test, rounded
down, and z of the normal distribution. Papers: [koehn2004] for sentences, [clark2011] for seeds.
"""

from __future__ import annotations

import functools
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
    """The effect of a comparison, and its resamples."""

    comparison: Comparison
    value: float
    by_seed: tuple[tuple[float, ...], ...]
    """Scores of each term, by seed."""
    sentence_part: NDArray[np.float64]
    """Effects of resampled sentences, all seeds. Shape: [resamples]."""
    seed_part: NDArray[np.float64]
    """Deviations by seeds, of a normal distribution; each is used with both signs. Shape: [resamples]."""
    seed_deviation: float
    """Standard error of the effect that is due to seeds."""
    freedom: int
    """Degrees of freedom of the standard error of the seeds; 0 if a variant has a single seed."""

    @property
    def seeds(self) -> int:
        """Smallest number of seeds of a term."""
        return min(map(len, self.by_seed))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval of level 1 − alpha; it is infinite if a variant has a single seed."""
        if self.freedom < 1:
            return -math.inf, math.inf
        quantile = NormalDist().inv_cdf(1 - alpha / 2)
        seeds = self.seed_part * (student_quantile(1 - alpha / 2, self.freedom) / quantile)
        values = np.concatenate([self.sentence_part + seeds, self.sentence_part - seeds])
        low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
        return float(low), float(high)


def compute_effect(
    comparison: Comparison,
    records: Mapping[str, Sequence[ModelRecord]],
    *,
    resamples: int = RESAMPLES,
    seed: int = _SEED,
) -> Effect:
    """Compute the effect of a comparison from the records of its variants, one per seed."""
    sampling = _sample_sentences(comparison, records, resamples, np.random.default_rng([seed, 0]))
    sentence_part = np.zeros(resamples)
    by_variant: dict[str, NDArray[np.float64]] = {}  # weighted sums of the terms of a variant, by seed
    value = 0.0
    for weight, name, observed, resampled in zip(
        sampling.weights, sampling.variants, sampling.observed, sampling.resampled, strict=True
    ):
        value += weight * float(observed.mean())
        sentence_part += weight * resampled.mean(1)
        by_variant[name] = by_variant.get(name, 0.0) + weight * observed
    deviation, freedom = _standard_error(list(by_variant.values()))
    seed_part = deviation * np.random.default_rng([seed, 1]).permutation(_normal_quantiles(resamples))
    by_seed = tuple(tuple(float(score) for score in observed) for observed in sampling.observed)
    return Effect(comparison, value, by_seed, sentence_part, seed_part, deviation, freedom)


def _standard_error(scores: Sequence[NDArray[np.float64]]) -> tuple[float, int]:
    """Return the standard error of the sum of means, and its degrees of freedom, as in Welch's test."""
    if min(map(len, scores)) < 2:
        return 0.0, 0
    errors = [float(each.var(ddof=1)) / len(each) for each in scores]
    total = sum(errors)
    spread = sum(error**2 / (len(each) - 1) for error, each in zip(errors, scores, strict=True))
    most = sum(len(each) - 1 for each in scores)
    return math.sqrt(total), int(total**2 / spread + 1e-9) if spread > 0 else most


@functools.cache
def _normal_quantiles(count: int) -> NDArray[np.float64]:
    """Quantiles of the normal distribution at equal distances of probability. Shape: [count]."""
    return np.array([NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)])


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
