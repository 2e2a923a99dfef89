"""Fit a calibration, and measure it, compared with values computed by hand."""

import numpy as np
import pytest

from dragoman.bundle.confidence import FEATURES
from dragoman.errors import DataError
from dragoman.evaluation.calibration import (
    expected_calibration_error,
    fit_calibration,
    probabilities,
    reliability,
    roc_area,
)

FLAGS = FEATURES.index("flags")


def test_the_calibration_error_of_five_values():
    likely = np.array([0.05, 0.15, 0.12, 0.95, 1.0])
    right = np.array([False, True, False, True, False])
    # Bins: 0.05 with 0 of 1; 0.135 with 1 of 2; 0.975 with 1 of 2.
    assert reliability(likely, right) == [
        pytest.approx(each) for each in ((0.05, 0.0, 1), (0.135, 0.5, 2), (0.975, 0.5, 2))
    ]
    assert expected_calibration_error(likely, right) == pytest.approx((0.05 + 2 * 0.365 + 2 * 0.475) / 5)


def test_the_area_under_the_curve():
    right = np.array([True, False, True, False])
    assert roc_area(np.array([0.9, 0.1, 0.8, 0.2]), right) == 1.0
    assert roc_area(np.array([0.1, 0.9, 0.2, 0.8]), right) == 0.0
    assert roc_area(np.array([0.5, 0.5, 0.5, 0.5]), right) == 0.5
    # Of the 4 pairs, 0.9 is above both others, 0.4 above one and equal to one.
    assert roc_area(np.array([0.9, 0.4, 0.4, 0.1]), right) == pytest.approx(3.5 / 4)


def made(count: int, slope: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Features of which the first decides, by a logistic curve, whether the score is 60 or 20."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, len(FEATURES)))
    features[:, FLAGS] = 0.0
    right = random.random(count) < 1 / (1 + np.exp(-slope * features[:, 0] - 1.0))
    return features, np.where(right, 60.0, 20.0)


def test_a_known_curve_is_found():
    found = fit_calibration(*made(20_000, 2.0), usable=50.0)
    slopes = np.array(found.weights) / np.array(found.scales)
    assert slopes[0] == pytest.approx(2.0, abs=0.08)
    assert np.abs(slopes[1:FLAGS]).max() < 0.08
    features, scores = made(5_000, 2.0, seed=2)
    likely = probabilities(found, features)
    assert expected_calibration_error(likely, scores >= 50) < 0.02
    assert roc_area(likely, scores >= 50) > 0.8


def test_a_flag_counts_even_if_the_test_set_has_none():
    found = fit_calibration(*made(1000, 0.0), usable=50.0)
    usual, flagged = found.probability((0.0,) * 4), found.probability((0.0, 0.0, 0.0, 1.0))
    assert usual == pytest.approx(0.73, abs=0.05)
    assert flagged < 0.1


def test_separable_sets_have_finite_weights():
    features, scores = made(200, 0.0)
    features[:, 0] = scores
    found = fit_calibration(features, scores, 50.0)
    assert roc_area(probabilities(found, features), scores >= 50) == 1.0
    assert np.abs(found.weights).max() < 100


def test_extreme_features_do_not_extrapolate():
    found = fit_calibration(*made(1000, 2.0), usable=50.0)
    assert found.probability((1e300, 0.0, 0.0, 0.0)) == found.probability((4.5, 0.0, 0.0, 0.0))
    assert found.probability((-1e300, 0.0, 0.0, 0.0)) > 0.0


@pytest.mark.parametrize(("count", "usable"), [(49, 50.0), (200, 10.0), (200, 90.0)])
def test_sets_that_cannot_be_fitted(count: int, usable: float):
    with pytest.raises(DataError, match="a test set must have at least 50 sentences, some of them with a chrF"):
        fit_calibration(*made(count, 1.0), usable=usable)
