"""Compute scores by the length of the source sentence. Paper: [bahdanau2015], figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.corpus_scores import compute_score
from dragoman.evaluation.metrics.sentence_statistics import Statistics
from dragoman.evaluation.results import LengthBin
from dragoman.evaluation.significance.bootstrap import DEFAULT_RESAMPLES
from dragoman.text.words import count_words

__all__ = ["DEFAULT_EDGES", "scores_by_length"]

DEFAULT_EDGES = (1, 10, 20, 30, 40, 50, 60)
"""Minimum words of each bin: 1 to 9, 10 to 19, …, 60 and more."""


def scores_by_length(
    sources: Sequence[str],
    statistics: Sequence[Statistics],
    *,
    edges: Sequence[int] = DEFAULT_EDGES,
    resamples: int = DEFAULT_RESAMPLES,
) -> tuple[LengthBin, ...]:
    """Score the sentences of each bin separately; bins without sentences are omitted.

    A sentence belongs to a bin by the number of words of its source; one with fewer words than the first edge is
    omitted.
    """
    if not edges or edges[0] < 0 or any(first >= second for first, second in pairwise(edges)):
        raise ConfigError(f"edges must go upwards from 0 or more, got {list(edges)}; for instance 1 10 20 30")
    for each in statistics:
        if len(each) != len(sources):
            raise DataError(
                f"sources and hypotheses must have equal numbers, got {len(sources)} and {len(each)}; give one source "
                "for each translation"
            )
    bins = np.searchsorted(edges, [count_words(source) for source in sources], side="right") - 1
    found = []
    for number, (low, following) in enumerate(zip(edges, [*edges[1:], None], strict=True)):
        rows = np.flatnonzero(bins == number)
        if len(rows):
            scores = tuple(compute_score(each.select(rows), resamples=resamples) for each in statistics)
            found.append(LengthBin(low, None if following is None else following - 1, len(rows), scores))
    return tuple(found)
