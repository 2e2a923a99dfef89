"""Bootstrap: score resampled test sets, for confidence intervals and significance tests. Paper: [koehn2004].

Draws and scores equal sacreBLEU's to the last digit. sacreBLEU copies the statistics of every resample; here a resample
is a vector of sentence counts, and one matrix product computes all totals.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.base import Score as SacreScore

from dragoman.errors import ConfigError
from dragoman.evaluation.metrics.sentence_statistics import PluginMetric, Statistics

DEFAULT_RESAMPLES = 1000

_CELLS = 1 << 22  # draws in memory at a time
_EXACT = 1 << 24  # single precision, in which sacreBLEU adds, is exact up to here


def seed_setting() -> tuple[str, int | None]:
    """Return the seed as sacreBLEU writes it and as a number; None means a random seed."""
    setting = os.environ.get("SACREBLEU_SEED", "12345").lower()
    try:
        seed = None if setting == "none" else int(setting)
    except ValueError:
        seed = -1
    if seed is not None and seed < 0:
        raise ConfigError(
            f"SACREBLEU_SEED must be a whole number, 0 or more, or none, got {setting!r}; unset it for sacreBLEU's "
            "default, 12345"
        )
    return setting, seed


def score_of_totals(metric: Metric | PluginMetric, totals: Any) -> SacreScore:
    """Return sacreBLEU's score of summed statistics, in the precision of the list or array."""
    score: SacreScore = metric._compute_score_from_stats(totals)  # noqa: SLF001 -- see metrics.sentence_statistics
    return score


def total_score(statistics: Statistics) -> float:
    """Return the score of all sentences together."""
    metric = statistics.signed_metric()
    return float(score_of_totals(metric, statistics.counts.sum(0).tolist()).score)


def resampled_scores(statistics: Statistics, resamples: int, seed: int | None) -> list[SacreScore]:
    """Return the scores of `resamples` draws of all sentences with replacement."""
    metric = statistics.signed_metric()
    draws = np.random.default_rng(seed)
    scores: list[SacreScore] = []
    for rows in blocks(resamples, len(statistics)):
        drawn = draws.choice(len(statistics), size=(rows, len(statistics)), replace=True)
        scores += [score_of_totals(metric, totals) for totals in _totals(statistics.counts, drawn)]
    if len({type(each.score) for each in scores}) > 1:  # an empty score is a Python 0; sacreBLEU rejects mixtures
        for each in scores:
            each.score = float(each.score)
    return scores


def blocks(rows: int, columns: int) -> Iterator[int]:
    """Split the rows of a table of draws into blocks; multiples of 32 rows, so that no random bits are discarded."""
    most = max(1, _CELLS // (32 * columns)) * 32
    for first in range(0, rows, most):
        yield min(most, rows - first)


def _totals(counts: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.float32]:
    """Sum the statistics of the drawn sentences. Shapes: [sentences, counts], [resamples, sentences]."""
    resamples, sentences = drawn.shape
    places = drawn + sentences * np.arange(resamples)[:, None]
    times = np.bincount(places.ravel(), minlength=resamples * sentences).reshape(resamples, sentences)
    totals = times.astype(np.float64) @ counts.astype(np.float64)  # [resamples, counts]
    if totals.max(initial=0) <= _EXACT:
        return totals.astype(np.float32)
    single = counts.astype(np.float32)  # beyond that the order of addition matters
    return np.stack([single[row].sum(0) for row in drawn])
