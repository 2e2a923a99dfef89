"""The ways in which a filter looks at a frame: at both sides at once, and closely at the few pairs that need it."""

from collections.abc import Callable

import numpy as np
import polars as pl

__all__ = ["Filter", "among", "differ", "either", "mark"]

Filter = Callable[[pl.DataFrame], pl.Series]
"""Looks at the columns ``source`` and ``target``; gives a boolean for each pair, True where it must be dropped."""


def either(frame: pl.DataFrame, test: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """Mark pairs of which one side, or both, passes the test."""
    return mark(frame, test(pl.col("source")) | test(pl.col("target")))


def mark(frame: pl.DataFrame, test: pl.Expr) -> pl.Series:
    """Mark pairs that pass a test of the whole pair."""
    return frame.select(drop=test).to_series()


def among(frame: pl.DataFrame, suspects: pl.Series, exact: Filter) -> pl.Series:
    """Mark those suspects that the exact filter marks; it sees no other pairs, so it may be a slow one."""
    if not suspects.any():
        return suspects
    rows = suspects.arg_true().to_numpy()
    marks = np.zeros(frame.height, dtype=np.bool_)
    marks[rows] = exact(frame[rows]).to_numpy()
    return pl.Series("drop", marks)


def differ(suspects: pl.DataFrame, differs: Callable[[str, str], bool]) -> pl.Series:
    """Mark pairs of which the test, given one pair after the other, says that their sides differ."""
    pairs = zip(suspects["source"].to_list(), suspects["target"].to_list(), strict=True)
    return pl.Series("drop", [differs(source, target) for source, target in pairs], dtype=pl.Boolean)
