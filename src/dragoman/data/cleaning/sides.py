"""Filters for pairs whose sides say the same in the same language: nothing can be learnt from a copy."""

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dragoman.data.cleaning.suspects import among, mark

__all__ = ["identical", "similar"]


def identical(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose letters are the same but for case; pairs without letters are another filter's business."""

    def first_letter(side: str) -> pl.Expr:
        return pl.col(side).str.extract(r"(\p{L})").str.to_lowercase()

    def letters(side: str) -> pl.Expr:
        return pl.col(side).str.replace_all(r"[^\p{L}\p{M}]+", "").str.to_lowercase()

    might_be = (first_letter("source") == first_letter("target")).fill_null(value=False)
    return among(
        frame,
        mark(frame, might_be),
        lambda suspects: mark(suspects, letters("source") == letters("target")),
    )


def similar(frame: pl.DataFrame, *, most: float) -> pl.Series:
    """Mark pairs with letters whose sides are more alike than `most`: 1 less the edits per character of the longer."""
    source, target = pl.col("source").str.len_chars(), pl.col("target").str.len_chars()

    def exact(suspects: pl.DataFrame) -> pl.Series:
        likeness = process.cpdist(
            suspects["source"].to_list(),
            suspects["target"].to_list(),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=most,
            dtype=np.float64,
            workers=1,
        )
        return pl.Series("drop", likeness > most)

    # At least as many edits are needed as the lengths differ by.
    might_be = pl.min_horizontal(source, target) > most * pl.max_horizontal(source, target)
    return among(frame, mark(frame, might_be & pl.col("source").str.contains(r"\p{L}")), exact)
