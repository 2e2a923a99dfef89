"""Sample translations: temperature and top-k [fan2018] (section 5.1), top-p [holtzman2020] (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats, Numbers, SearchMonitor, StartDecoding
from dragoman.search.greedy import decode_rows
from dragoman.search.hypothesis import Hypothesis, SearchInput


def sample(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    return_attention: bool = False,
    monitor: SearchMonitor | None = None,
) -> list[list[Hypothesis]]:
    """Draw `settings.nbest` samples per sentence: y_t ~ p(y | y_<t, x) under the settings.

    A sample is a function of (seed, number of the sentence, number of the sample, step), not of the batch.
    """
    copies = settings.nbest
    draws = [
        np.random.Generator(np.random.Philox(np.random.SeedSequence([settings.seed, sentence.number, copy])))
        for sentence in sentences
        for copy in range(copies)
    ]

    def pick(log_probs: Floats, rows: Sequence[int]) -> Numbers:
        drawn = [_draw(scores, draws[row].random(), settings) for scores, row in zip(log_probs, rows, strict=True)]
        return np.array(drawn, np.int64)

    return decode_rows(
        start,
        sentences,
        settings,
        pick,
        copies=copies,
        longest=longest,
        return_attention=return_attention,
        monitor=monitor,
    )


def _draw(log_probs: Floats, uniform: float, settings: SearchSettings) -> int:
    """One token, by inverting the cumulative distribution, most likely tokens first. Shapes: [vocab]."""
    scores = log_probs.astype(np.float64) / settings.temperature
    order = np.argsort(-scores, kind="stable")
    if np.isneginf(scores[order[0]]):  # no token is allowed
        return int(order[0])
    if settings.top_k:
        order = order[: settings.top_k]
    p = np.exp(scores[order] - scores[order[0]])
    p /= p.sum()
    if settings.top_p < 1.0:
        p = p[: int(np.searchsorted(p.cumsum(), settings.top_p)) + 1]
    cumulative = p.cumsum()
    place = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return int(order[min(int(place), len(p) - 1)])
