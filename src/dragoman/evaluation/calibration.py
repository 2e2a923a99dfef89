"""Fit and measure calibrations: logistic regression, expected calibration error, area under the ROC curve."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle.confidence import FEATURES, Calibration
from dragoman.errors import DataError

Floats = NDArray[np.float64]

MIN_SENTENCES = 50

# A usual test set has no translation with such flags, so a fit without a prior would ignore them. Models copy text in a
# language that they do not know, with a high probability.
_PRIOR = np.array([0.0, 0.0, 0.0, -4.0])  # weights, and their precision
_PRECISION = np.array([1.0, 1.0, 1.0, 4.0])
_FLAGS = FEATURES.index("flags")
_MAX_STEPS = 100


def fit_calibration(features: Floats, scores: Floats, usable: float) -> Calibration:
    """Fit a logistic regression by Newton's method with a normal prior; `scores` are chrF++.

    Shapes: features [sentences, features], scores [sentences].
    """
    is_usable = scores >= usable
    count, right = len(is_usable), int(is_usable.sum())
    if count < MIN_SENTENCES or right in (0, count):
        raise DataError(
            f"a test set must have at least {MIN_SENTENCES} sentences, some of them with a chrF++ of {usable:g} and "
            f"some below, got {count:,} and {right:,} of them usable; use another one, or another --usable"
        )
    means, scales = features.mean(0), np.maximum(features.std(0), 1e-3)
    means[_FLAGS], scales[_FLAGS] = 0.0, 1.0
    rows = np.c_[np.clip((features - means) / scales, -4.0, 4.0), np.ones(count)]
    prior, precision = np.append(_PRIOR, 0.0), np.append(_PRECISION, 1e-6)
    weights = np.append(_PRIOR, np.log(right / (count - right)))

    def loss(weights: Floats) -> float:
        wrong = np.logaddexp(0.0, np.where(is_usable, -1.0, 1.0) * (rows @ weights)).sum()
        return float(wrong + 0.5 * (precision * (weights - prior) ** 2).sum())

    for _ in range(_MAX_STEPS):
        likely = _sigmoid(rows @ weights)
        gradient = rows.T @ (likely - is_usable) + precision * (weights - prior)
        step = np.linalg.solve((rows.T * (likely * (1 - likely))) @ rows + np.diag(precision), gradient)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-9:
            step /= 2
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    *slopes, bias = np.clip(weights, -1e6, 1e6).tolist()
    return Calibration(
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        weights=tuple(slopes),
        bias=bias,
        usable=usable,
        sentences=count,
    )


def probabilities(calibration: Calibration, features: Floats) -> Floats:
    """Return the probability of each row."""
    return np.array([calibration.probability(row) for row in features.tolist()])


def reliability(likely: Floats, is_usable: NDArray[np.bool_], bins: int = 10) -> list[tuple[float, float, int]]:
    """Return mean probability, share of usable translations and size of bins of equal widths ([guo2017], section 2)."""
    places = np.minimum((likely * bins).astype(int), bins - 1)
    return [
        (float(likely[row].mean()), float(is_usable[row].mean()), int(row.sum()))
        for row in (places == place for place in range(bins))
        if row.any()
    ]


def expected_calibration_error(likely: Floats, is_usable: NDArray[np.bool_], bins: int = 10) -> float:
    """Σ |bin| / n · |share usable − mean probability|. Paper: [guo2017] (3)."""
    found = reliability(likely, is_usable, bins)
    return sum(count * abs(share - mean) for mean, share, count in found) / len(likely)


def roc_area(likely: Floats, is_usable: NDArray[np.bool_]) -> float:
    """The probability that a usable translation has a higher value than another one; equal values count half."""
    _, places, counts = np.unique(likely, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    right = int(is_usable.sum())
    return float((ranks[is_usable].sum() - right * (right + 1) / 2) / (right * (len(likely) - right)))


def split_halves(count: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """Return the rows of two random halves."""
    order = np.random.default_rng(seed).permutation(count)
    return order[: count // 2], order[count // 2 :]


def _sigmoid(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -700.0, 700.0)))
