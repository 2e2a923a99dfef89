"""Scores of resampled sentences: how far a score depends on which sentences were chosen. [koehn2004].

The draws and the scores are those of sacreBLEU to the last digit. It copies the counts of every resample; here a
resample says how often it holds each sentence, and one multiplication gives all the totals.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.base import Score as SacreScore

from dragoman.errors import ConfigError
from dragoman.evaluation.sentence_statistics import Statistics, signed_metric

__all__ = ["DEFAULT_RESAMPLES", "blocks", "resampled_scores", "score_of_totals", "seed_setting", "total_score"]

DEFAULT_RESAMPLES = 1000

_CELLS = 1 << 22
"""Draws that are held in memory together."""

_EXACT = 1 << 24
"""Up to here, numbers of single precision, which sacreBLEU adds up, hold every count."""


def seed_setting() -> tuple[str, int | None]:
    """Return what draws start from, as sacreBLEU writes it and as a number; None means a new start each time."""
    setting = os.environ.get("SACREBLEU_SEED", "12345").lower()
    try:
        seed = None if setting == "none" else int(setting)
    except ValueError:
        seed = -1
    if seed is not None and seed < 0:
        raise ConfigError(
            f"SACREBLEU_SEED must be a whole number, 0 or more, or none, got {setting!r}; unset it for sacreBLEU's "
            "own, 12345"
        )
    return setting, seed


def score_of_totals(metric: Metric, totals: Any) -> SacreScore:
    """Return sacreBLEU's score of counts that were added up; a list or an array; it is as precise as they are."""
    score: SacreScore = metric._compute_score_from_stats(totals)  # noqa: SLF001 -- see sentence_statistics
    return score


def total_score(statistics: Statistics) -> float:
    """Return the score of all sentences together."""
    metric = signed_metric(statistics.metric, statistics.language)
    return float(score_of_totals(metric, statistics.counts.sum(0).tolist()).score)


def resampled_scores(statistics: Statistics, resamples: int, seed: int | None) -> list[SacreScore]:
    """Return the scores of so many draws of as many sentences as there are, with replacement."""
    metric = signed_metric(statistics.metric, statistics.language)
    draws = np.random.default_rng(seed)
    scores: list[SacreScore] = []
    for rows in blocks(resamples, len(statistics)):
        drawn = draws.choice(len(statistics), size=(rows, len(statistics)), replace=True)
        scores += [score_of_totals(metric, totals) for totals in _totals(statistics.counts, drawn)]
    if len({type(each.score) for each in scores}) > 1:  # a score of nothing is a plain 0: sacreBLEU refuses the mixture
        for each in scores:
            each.score = float(each.score)
    return scores


def blocks(rows: int, columns: int) -> Iterator[int]:
    """Divide the rows of a large table of draws; a block has a multiple of 32, which leaves no drawn bits behind."""
    most = max(1, _CELLS // (32 * columns)) * 32
    for first in range(0, rows, most):
        yield min(most, rows - first)


def _totals(counts: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.float32]:
    """Add up the counts of the sentences drawn. Shapes: [sentences, counts], [resamples, sentences]."""
    resamples, sentences = drawn.shape
    places = drawn + sentences * np.arange(resamples)[:, None]
    times = np.bincount(places.ravel(), minlength=resamples * sentences).reshape(resamples, sentences)
    totals = times.astype(np.float64) @ counts.astype(np.float64)  # [resamples, counts]
    if totals.max(initial=0) <= _EXACT:
        return totals.astype(np.float32)
    single = counts.astype(np.float32)  # beyond that the order of adding matters
    return np.stack([single[row].sum(0) for row in drawn])
