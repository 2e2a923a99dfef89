"""Effects with intervals: a hierarchical bootstrap over seeds and sentences.

Every resample draws sentences with replacement, the same for all terms, and for each variant a mean of its seeds.
Three seeds drawn with replacement have 27 results, too few for the quantiles of Holm's correction; the mean is
therefore drawn from a normal distribution with the standard error of the seeds (a parametric bootstrap). Deviations are
multiplied by t/z and used with both signs. t is the quantile of Student's distribution, z that of the normal
distribution. Papers: [koehn2004] for sentences, [clark2011] for seeds.

The spread of the seeds is pooled over all models of the same base and corpus if it is similar (`pooled_spread`).
A variant whose spread is not similar keeps its own, with the degrees of freedom of Welch's test, rounded down.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from claims.ledger.claim import Comparison
from claims.ledger.measures import measure, term_counts
from claims.ledger.peers import Peers
from claims.ledger.record import ModelRecord
from claims.ledger.seed_spread import seed_error
from dragoman.errors import DataError
from dragoman.evaluation.aggregate_members import t_quantile

RESAMPLES = 2000
_SEED = 20190101
_BLOCK = 250  # resamples per matrix product
_TOLERANCE = 1e-9  # 3.9999999999 degrees of freedom are 4


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
    seed_error: float
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
        widening = t_quantile(1 - alpha / 2, self.freedom) / NormalDist().inv_cdf(1 - alpha / 2)
        by_seeds = self.seed_error * widening * _normal_draws(len(self.sentence_part))
        values = np.concatenate([self.sentence_part + by_seeds, self.sentence_part - by_seeds])
        low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
        return float(low), float(high)


def compute_effect(
    comparison: Comparison,
    records: Mapping[str, Sequence[ModelRecord]],
    peers: Peers | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = _SEED,
) -> Effect:
    """Compute the effect of a comparison from the records of its variants, one per seed of the training.

    `seed` is that of the resampled sentences; the draws for seeds of the training are always the same. `peers` are
    the models over which the spread of the seeds may be pooled.
    """
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
    samples = {name: tuple(scores.tolist()) for name, scores in by_variant.items()}
    error, freedom = 0.0, 0.0
    if min(map(len, samples.values())) > 1:
        error, freedom = seed_error(
            [
                (own, peers.spread(comparison, name, records[name], own) if peers else None)
                for name, own in samples.items()
            ]
        )
    by_seed = tuple(tuple(float(score) for score in observed) for observed in sampling.observed)
    return Effect(comparison, value, by_seed, sentence_part, error, int(freedom + _TOLERANCE))


@functools.cache
def _normal_draws(count: int) -> NDArray[np.float64]:
    """Return evenly spaced quantiles of the normal distribution in random order. Shape: [count]."""
    quantiles = [NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)]
    draws = np.random.default_rng([_SEED, 1]).permutation(quantiles)
    draws.flags.writeable = False
    return draws


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
