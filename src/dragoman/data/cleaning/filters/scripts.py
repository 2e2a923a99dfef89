"""Mark sentence pairs to drop: few letters, letters of a wrong script, or lengths that are too different."""

from collections.abc import Callable

import polars as pl

from dragoman.data.cleaning.filters.base import either_side, mark_pairs, refine
from dragoman.data.token_pairs import SIDES
from dragoman.text.language_scripts import language_scripts

__all__ = ["WEIGHTS", "few_letters", "has_foreign_script", "uneven_lengths", "weighted_length", "wrong_script"]

WEIGHTS = {"Han": 3.0, "Hiragana": 1.7, "Katakana": 1.7, "Hangul": 2.0}
"""Approximate number of alphabetic characters that one character of a script corresponds to; 1 for other scripts.

No weight may exceed the UTF-8 bytes of the character: `uneven_lengths` uses the bytes as a bound.
"""

_SLACK = 8
"""Characters added to the shorter side before lengths are compared, so that short texts such as "Hi." pass."""

_NUMBER = r"\d+(?:[.,:/'’–−-]\d+)*"
_LETTER = r"\p{L}\p{M}"  # marks count as letters: vowels of Indic scripts are marks


def weighted_length(text: pl.Expr) -> pl.Expr:
    """Return the sum of the weights of all characters."""
    length = text.str.len_chars().cast(pl.Float64)
    for weight, scripts in _by_weight(tuple(WEIGHTS), "sc").items():
        length += _only(text, scripts).str.len_chars() * (weight - 1)
    return length


def _by_weight(scripts: tuple[str, ...], unicode_property: str) -> dict[float, str]:
    """Return bodies of regular-expression classes for the scripts, by weight.

    The property is ``sc`` (one script per character) or ``scx`` (possibly several).
    """
    bodies: dict[float, str] = {}
    for script in scripts:
        weight = WEIGHTS.get(script, 1.0)
        bodies[weight] = bodies.get(weight, "") + rf"\p{{{unicode_property}={script}}}"
    return bodies


def _only(text: pl.Expr, letters: str) -> pl.Expr:
    """Keep only the characters of a class; the length of the result is cheaper than counting matches."""
    return text.str.replace_all(f"[^{letters}]+", "")


def uneven_lengths(frame: pl.DataFrame, *, maximum: float) -> pl.Series:
    """Mark pairs with one side more than `maximum` times as long as the other, in weighted characters."""

    def exact(suspects: pl.DataFrame) -> pl.Series:
        source, target = weighted_length(pl.col("source")), weighted_length(pl.col("target"))
        return mark_pairs(suspects, (source > maximum * (target + _SLACK)) | (target > maximum * (source + _SLACK)))

    source, target = pl.col("source").str, pl.col("target").str
    # The weighted length is at least the number of characters and at most the number of bytes.
    might_be = (source.len_bytes() > maximum * (target.len_chars() + _SLACK)) | (
        target.len_bytes() > maximum * (source.len_chars() + _SLACK)
    )
    return refine(frame, mark_pairs(frame, might_be), exact)


def few_letters(frame: pl.DataFrame, *, minimum: float) -> pl.Series:
    """Mark pairs with a side without letters, or in which the weighted share of letters is less than `minimum`.

    Spaces and numbers are ignored: "am 3.10.1990" consists of letters only.
    """

    def few(text: pl.Expr, length: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        letters = length(_only(text, _LETTER))
        others = text.str.replace_all(rf"[{_LETTER}\s]+|{_NUMBER}", "").str.len_chars()
        return (letters == 0) | (letters < minimum * (letters + others))

    plain = _plainly_letters(minimum)
    doubtful = refine(
        frame,
        either_side(frame, lambda text: ~text.str.contains(plain)),
        lambda some: either_side(some, lambda text: few(text, lambda letters: letters.str.len_chars())),
    )
    return refine(frame, doubtful, lambda some: either_side(some, lambda text: few(text, weighted_length)))


def _plainly_letters(minimum: float) -> str:
    """Return a pattern of texts that clearly have enough letters: few other characters around each run of letters.

    A run of three letters allows more other characters than one, so most sentences with quotations match too.
    """
    afforded = (1 - minimum) / minimum if minimum else 0.0
    one, three = min(int(afforded), 3), min(int(3 * afforded), 6)
    letter, other, free = rf"[{_LETTER}]", rf"(?:[^{_LETTER}\s\d][\s\d]*)", r"[\s\d]*"
    long = rf"{other}{{0,{three // 3}}}{letter}{{3}}{letter}*{free}{other}{{0,{three - three // 3}}}"
    short = rf"{letter}{{1,2}}{free}{other}{{0,{one}}}"
    return rf"^{free}(?:{long}|{short})+$"


def wrong_script(frame: pl.DataFrame, *, source: str, target: str, minimum: float) -> pl.Series:
    """Mark pairs with a side in which the share of letters in its language's scripts is less than `minimum`.

    Only letters of these scripts are weighted: 我用 Twitter is nearly half Chinese. Words in another script that occur
    on both sides, mostly names, are ignored if the side has a letter of its language.
    """
    marks = [
        _foreign_side(frame, side, other, language, minimum)
        for side, other, language in zip(SIDES, reversed(SIDES), (source, target), strict=True)
    ]
    return marks[0] | marks[1]


def _foreign_side(frame: pl.DataFrame, side: str, other: str, language: str, minimum: float) -> pl.Series:
    own = "".join(_by_weight(language_scripts(language), "scx").values())
    own_letters = _only(pl.col(side), rf"\p{{L}}&&[{own}]").alias("own")
    foreign_words = rf"[\p{{L}}--[{own}]]+"

    def exact(suspects: pl.DataFrame) -> pl.Series:
        here, there = (pl.col(column).str.extract_all(foreign_words) for column in (side, other))
        rows = suspects.select(own_letters, here=here, there=there).rows()
        return has_foreign_script(
            pl.Series([_without_shared(*row) for row in rows], dtype=pl.String), language, minimum
        )

    return refine(frame, has_foreign_script(frame[side], language, minimum), exact)


def _without_shared(own_letters: str, words: list[str], other_words: list[str]) -> str:
    """Return the letters of a side without words that both sides have, if it has letters of its language."""
    shared = set(other_words) if own_letters else set()
    return " ".join([own_letters, *(word for word in words if word not in shared)])


def has_foreign_script(texts: pl.Series, language: str, minimum: float) -> pl.Series:
    """Mark texts in which the share of letters in the language's scripts is less than `minimum`, if these are known."""
    scripts = _by_weight(language_scripts(language), "scx")
    frame = texts.alias("text").to_frame()
    if not scripts:
        return mark_pairs(frame, pl.repeat(value=False, n=pl.len(), dtype=pl.Boolean))
    every = "".join(scripts.values())
    text = pl.col("text")

    def exact(suspects: pl.DataFrame) -> pl.Series:
        own = [weight * _only(text, rf"\p{{L}}&&[{body}]").str.len_chars() for weight, body in scripts.items()]
        foreign = _only(text, rf"\p{{L}}--[{every}]").str.len_chars()
        return mark_pairs(suspects, pl.sum_horizontal(own) * (1 - minimum) < minimum * foreign)

    return refine(frame, mark_pairs(frame, text.str.contains(rf"[\p{{L}}--[{every}]]")), exact)
