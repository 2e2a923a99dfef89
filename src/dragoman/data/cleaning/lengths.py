"""Filters by the number of words and characters of a side."""

import polars as pl

from dragoman.data.cleaning.addresses import without_addresses
from dragoman.data.cleaning.suspects import among, either
from dragoman.text.characters import SPACELESS

__all__ = ["empty", "few_words", "long_text", "long_word", "many_words"]

# A character of a script without spaces is a word, unless it is punctuation or a mark.
_SPACED_WORD = rf"[^\s{SPACELESS}]+"
_WORD = rf"[\p{{L}}\p{{N}}&&[{SPACELESS}]]|{_SPACED_WORD}"

_LONGEST_COUNTED = 100  # a pattern that counts further would be too large for some limits


def empty(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with a side of nothing but white space."""
    return either(frame, lambda text: text.str.strip_chars() == "")


def few_words(frame: pl.DataFrame, *, least: int) -> pl.Series:
    """Mark pairs with a side of fewer words."""
    if least == 1:
        return either(frame, lambda text: ~text.str.contains(_WORD))
    return either(frame, lambda text: text.str.count_matches(_WORD) < least)


def many_words(frame: pl.DataFrame, *, most: int) -> pl.Series:
    """Mark pairs with a side of more words."""
    return among(
        frame,
        # A word takes two bytes at least: one and a space, or three where there are no spaces.
        either(frame, lambda text: text.str.len_bytes() >= 2 * most),
        lambda suspects: either(suspects, lambda text: text.str.count_matches(_WORD) > most),
    )


def long_text(frame: pl.DataFrame, *, most: int) -> pl.Series:
    """Mark pairs with a side of more characters."""
    return either(frame, lambda text: text.str.len_chars() > most)


def long_word(frame: pl.DataFrame, *, most: int) -> pl.Series:
    """Mark pairs with a longer word; scripts without spaces have no long words, and addresses are no words."""

    def longest(text: pl.Expr) -> pl.Expr:
        words = without_addresses(text).str.extract_all(_SPACED_WORD)
        return words.list.eval(pl.element().str.len_chars()).list.max()

    return among(
        frame,
        either(frame, lambda text: text.str.contains(rf"\S{{{min(most, _LONGEST_COUNTED) + 1}}}")),
        lambda suspects: either(suspects, lambda text: (longest(text) > most).fill_null(value=False)),
    )
