"""Fit the confidence of a model to a test set, and store it in the bundle."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.api.model_store.store_writer import changed_in_place
from dragoman.api.translation.postprocessor import confidence_features
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import write_calibration
from dragoman.errors import ConfigError
from dragoman.evaluation.calibration import (
    MIN_SENTENCES,
    Floats,
    expected_calibration_error,
    fit_calibration,
    probabilities,
    roc_area,
    split_halves,
)
from dragoman.evaluation.metrics.corpus_scores import sentence_scores
from dragoman.progress import Progress


@dataclass(frozen=True)
class CalibrationResult:
    """The bundle, counts, and how well a fit to each half of the test set estimates the other; None if it is small."""

    bundle: Bundle
    sentences: int
    usable: int
    calibration_error: float | None
    roc_area: float | None


def calibrate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    usable: float = 50.0,
    progress: Progress | None = None,
) -> CalibrationResult:
    """Fit the probability of a chrF++ of `usable` to a test set, and replace the bundle by one that has it."""
    bundle, *others = translator.bundles
    if others:
        raise ConfigError(f"the model must be one bundle, got an ensemble of {len(translator.bundles)}; name one")
    features, scores = measure_translations(translator, sources, references, progress=progress)
    calibration = fit_calibration(features, scores, usable)
    error = area = None
    halves = split_halves(len(scores), 1)
    right = scores >= usable
    if all(0 < right[half].sum() < len(half) for half in halves) and len(halves[0]) >= MIN_SENTENCES:
        likely = np.empty(len(scores))
        for one, other in (halves, halves[::-1]):
            likely[other] = probabilities(fit_calibration(features[one], scores[one], usable), features[other])
        error, area = expected_calibration_error(likely, right), roc_area(likely, right)
    with changed_in_place(bundle.folder):
        written = write_calibration(bundle, "-".join(translator.languages), calibration)
    return CalibrationResult(written, len(scores), int(right.sum()), error, area)


def measure_translations(
    translator: Translator, sources: Sequence[str], references: Sequence[str], *, progress: Progress | None = None
) -> tuple[Floats, Floats]:
    """Translate a test set; return the features and the chrF++ of all that was translated.

    Shapes: [sentences, features], [sentences].
    """
    found = translator.translate(sources, split_sentences=False, protect=False, progress=progress)
    kept = [(each, reference) for each, reference in zip(found, references, strict=True) if each.tokens]
    scores = sentence_scores([each.text for each, _ in kept], [reference for _, reference in kept])
    language = translator.languages[0]
    return np.array([confidence_features(each, language) for each, _ in kept]).reshape(len(kept), -1), np.array(scores)
