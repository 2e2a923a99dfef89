"""Dropping pairs, and saying which and why."""

from collections.abc import Iterator, Mapping

import polars as pl

from dragoman.data.cleaning.suspects import Filter
from dragoman.data.pairs import SIDES
from dragoman.data.tally import MOST_EXAMPLES, Example, Tally

__all__ = ["clean"]


def clean(frame: pl.DataFrame, filters: Mapping[str, Filter], file: str) -> tuple[pl.DataFrame, Tally]:
    """Apply the filters in order, each to what the ones before left; return what is left and what was dropped.

    The frame has the columns ``source``, ``target`` and ``line``; others are kept as they are.
    """
    tally = Tally()
    for reason, find in filters.items():
        drop = find(frame)
        if drop.any():
            tally.add(reason, int(drop.sum()), _examples(frame.filter(drop), file))
            frame = frame.filter(~drop)
    return frame, tally


def _examples(dropped: pl.DataFrame, file: str) -> Iterator[Example]:
    for line, source, target in dropped.head(MOST_EXAMPLES).select("line", *SIDES).rows():
        yield Example(file, line, source, target)
