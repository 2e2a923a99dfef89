"""Mark sentence pairs to drop: the target is a copy of the source."""

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dragoman.data.cleaning.filters.base import mark_pairs, refine

__all__ = ["identical_sides", "similar_sides"]


def identical_sides(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose letters are equal except for case; pairs without letters are not marked."""

    def first_letter(side: str) -> pl.Expr:
        return pl.col(side).str.extract(r"(\p{L})").str.to_lowercase()

    def letters(side: str) -> pl.Expr:
        return pl.col(side).str.replace_all(r"[^\p{L}\p{M}]+", "").str.to_lowercase()

    might_be = (first_letter("source") == first_letter("target")).fill_null(value=False)
    return refine(
        frame,
        mark_pairs(frame, might_be),
        lambda suspects: mark_pairs(suspects, letters("source") == letters("target")),
    )


def similar_sides(frame: pl.DataFrame, *, maximum: float) -> pl.Series:
    """Mark pairs with letters whose similarity, 1 - edits / longer length, is more than `maximum`."""
    source, target = pl.col("source").str.len_chars(), pl.col("target").str.len_chars()

    def exact(suspects: pl.DataFrame) -> pl.Series:
        similarity = process.cpdist(
            suspects["source"].to_list(),
            suspects["target"].to_list(),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=maximum,
            dtype=np.float64,
            workers=1,
        )
        return pl.Series("drop", similarity > maximum)

    # The difference of the lengths is a lower bound of the edits.
    might_be = pl.min_horizontal(source, target) > maximum * pl.max_horizontal(source, target)
    return refine(frame, mark_pairs(frame, might_be & pl.col("source").str.contains(r"\p{L}")), exact)
