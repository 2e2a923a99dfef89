"""Mark sentence pairs to drop: empty source or target, too few or too many words, long texts, long words."""

import polars as pl

from dragoman.data.cleaning.filters.addresses import remove_addresses
from dragoman.data.cleaning.filters.base import either_side, refine
from dragoman.text.characters import SPACELESS

__all__ = ["count_words", "empty_side", "few_words", "long_text", "long_word", "many_words"]

# A character of a script without spaces is a word, unless it is punctuation or a mark.
_SPACED_WORD = rf"[^\s{SPACELESS}]+"
_WORD = rf"[\p{{L}}\p{{N}}&&[{SPACELESS}]]|{_SPACED_WORD}"

_LONGEST_COUNTED = 100  # a longer count would exceed the size limit of the pattern


def count_words(text: pl.Expr) -> pl.Expr:
    """Return the number of words."""
    return text.str.count_matches(_WORD)


def empty_side(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with a side that has only white space."""
    return either_side(frame, lambda text: text.str.strip_chars() == "")


def few_words(frame: pl.DataFrame, *, minimum: int) -> pl.Series:
    """Mark pairs with a side of fewer than `minimum` words."""
    if minimum == 1:
        return either_side(frame, lambda text: ~text.str.contains(_WORD))
    return either_side(frame, lambda text: count_words(text) < minimum)


def many_words(frame: pl.DataFrame, *, maximum: int) -> pl.Series:
    """Mark pairs with a side of more than `maximum` words."""
    return refine(
        frame,
        # A word takes two bytes at least: one and a space, or three where there are no spaces.
        either_side(frame, lambda text: text.str.len_bytes() >= 2 * maximum),
        lambda suspects: either_side(suspects, lambda text: count_words(text) > maximum),
    )


def long_text(frame: pl.DataFrame, *, maximum: int) -> pl.Series:
    """Mark pairs with a side of more than `maximum` characters."""
    return either_side(frame, lambda text: text.str.len_chars() > maximum)


def long_word(frame: pl.DataFrame, *, maximum: int) -> pl.Series:
    """Mark pairs with a word of more than `maximum` characters; addresses and scripts without spaces do not count."""

    def longest(text: pl.Expr) -> pl.Expr:
        words = remove_addresses(text).str.extract_all(_SPACED_WORD)
        return words.list.eval(pl.element().str.len_chars()).list.max()

    return refine(
        frame,
        either_side(frame, lambda text: text.str.contains(rf"\S{{{min(maximum, _LONGEST_COUNTED) + 1}}}")),
        lambda suspects: either_side(suspects, lambda text: (longest(text) > maximum).fill_null(value=False)),
    )
