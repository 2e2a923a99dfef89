"""Translations drawn at random. Papers: temperature and top-k [fan2018] (section 5.1), top-p [holtzman2020] (3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.search.greedy import write_rows
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Floats, Numbers, Start, Watch
from dragoman.search.settings import SearchSettings

__all__ = ["sample"]


def sample(
    start: Start,
    sentences: Sequence[Sentence],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    show: bool = False,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """`settings.nbest` draws for each sentence, in the order drawn: y_t ~ p(y | y_<t, x) under the settings.

    A draw is a function of (seed, number of the sentence, number of the draw, step), not of its company.
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

    return write_rows(start, sentences, settings, pick, copies=copies, longest=longest, show=show, watch=watch)


def _draw(log_probs: Floats, uniform: float, settings: SearchSettings) -> int:
    """One word, by inverting the cumulative distribution of the likeliest words first. Shapes: [vocab]."""
    scores = log_probs.astype(np.float64) / settings.temperature
    order = np.argsort(-scores, kind="stable")
    if np.isneginf(scores[order[0]]):  # nothing may be written any more
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
