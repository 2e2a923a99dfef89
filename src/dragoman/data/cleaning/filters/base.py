"""Filter protocol, and functions that filters share: test source and target, confirm a fast test by an exact one."""

from collections.abc import Callable

import numpy as np
import polars as pl

Filter = Callable[[pl.DataFrame], pl.Series]
"""Reads the columns ``source`` and ``target``; returns a boolean per pair, True if it must be dropped."""


def either_side(frame: pl.DataFrame, test: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """Mark pairs with at least one side that passes the test."""
    return mark_pairs(frame, test(pl.col("source")) | test(pl.col("target")))


def mark_pairs(frame: pl.DataFrame, test: pl.Expr) -> pl.Series:
    """Mark pairs that pass the test."""
    return frame.select(drop=test).to_series()


def refine(frame: pl.DataFrame, suspects: pl.Series, exact: Filter) -> pl.Series:
    """Mark the suspects that the exact filter marks; it is called with suspects only, so it may be slow."""
    if not suspects.any():
        return suspects
    rows = suspects.arg_true().to_numpy()
    marks = np.zeros(frame.height, dtype=np.bool_)
    marks[rows] = exact(frame[rows]).to_numpy()
    return pl.Series("drop", marks)


def mark_differing(suspects: pl.DataFrame, differs: Callable[[str, str], bool]) -> pl.Series:
    """Mark pairs for which a Python function returns True."""
    pairs = zip(suspects["source"].to_list(), suspects["target"].to_list(), strict=True)
    return pl.Series("drop", [differs(source, target) for source, target in pairs], dtype=pl.Boolean)
