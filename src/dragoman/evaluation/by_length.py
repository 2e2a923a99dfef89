"""Scores by the length of the source: how a system holds up where sentences grow long. [bahdanau2015] figure 2."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.intervals import DEFAULT_RESAMPLES
from dragoman.evaluation.metrics import score_of
from dragoman.evaluation.report import LengthScores
from dragoman.evaluation.sentence_statistics import Statistics, corpus_statistics
from dragoman.text.characters import SPACELESS, attaching_class

__all__ = ["DEFAULT_EDGES", "by_length", "by_length_of", "source_length"]

DEFAULT_EDGES = (1, 10, 20, 30, 40, 50, 60)
"""The least words of each bin: 1 to 9, 10 to 19, …, 60 and more."""


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    edges: Sequence[int] = DEFAULT_EDGES,
    metrics: Sequence[str] = ("bleu", "chrf"),
    language: str = "",
    resamples: int = DEFAULT_RESAMPLES,
) -> tuple[LengthScores, ...]:
    """Score the sentences of each bin by themselves, as a file of their own would be; empty bins are left out.

    A sentence belongs to a bin by the words of its source; one with fewer than the first edge, to none.
    """
    statistics = corpus_statistics(hypotheses, references, metrics=metrics, language=language)
    return by_length_of(sources, statistics, edges=edges, resamples=resamples)


def by_length_of(
    sources: Sequence[str],
    statistics: Sequence[Statistics],
    *,
    edges: Sequence[int] = DEFAULT_EDGES,
    resamples: int = DEFAULT_RESAMPLES,
) -> tuple[LengthScores, ...]:
    """Do the same with sentences that were counted already."""
    if not edges or edges[0] < 0 or any(first >= second for first, second in pairwise(edges)):
        raise ConfigError(f"edges must go upwards from 0 or more, got {list(edges)}; for instance 1 10 20 30")
    for each in statistics:
        if len(each) != len(sources):
            raise DataError(
                f"sources and hypotheses must be as many, got {len(sources)} and {len(each)}; give one source for each "
                "translation"
            )
    bins = np.searchsorted(edges, [source_length(source) for source in sources], side="right") - 1
    found = []
    for number, (low, following) in enumerate(zip(edges, [*edges[1:], None], strict=True)):
        rows = np.flatnonzero(bins == number)
        if len(rows):
            scores = tuple(score_of(each.select(rows), resamples=resamples) for each in statistics)
            found.append(LengthScores(low, None if following is None else following - 1, len(rows), scores))
    return tuple(found)


def source_length(text: str) -> int:
    """How many words a text has: between spaces, and in scripts without them every character (`text.words`)."""
    return sum(1 for _ in _word().finditer(text))


@functools.cache
def _word() -> re.Pattern[str]:
    marks = attaching_class()
    spaced = rf"[^\s{SPACELESS}]"
    return re.compile(rf"(?!\s)[{SPACELESS}][{marks}]*|{spaced}(?:{spaced}|[{marks}])*")
