"""Filters by script: how much its characters say, and whether it is one of the language's own."""

from collections.abc import Callable

import polars as pl

from dragoman.data.cleaning.codes import own_scripts
from dragoman.data.cleaning.suspects import among, either, mark
from dragoman.data.pairs import SIDES

__all__ = [
    "WEIGHTS",
    "few_letters",
    "foreign_script",
    "foreign_to",
    "uneven",
    "weighted_length",
]

WEIGHTS = {"Han": 3.0, "Hiragana": 1.7, "Katakana": 1.7, "Hangul": 2.0}
"""About how many characters of an alphabet one character of a script stands for; 1 for every other script.

No weight may exceed the bytes of the character in UTF-8: `uneven` takes the bytes as a bound.
"""

_SLACK = 8
"""So many characters are added to the shorter side before lengths are compared: that "Hi." is short says nothing."""

_NUMBER = r"\d+(?:[.,:/'’–−-]\d+)*"
_LETTER = r"\p{L}\p{M}"  # marks are letters here: the vowels of India's scripts are marks


def weighted_length(text: pl.Expr) -> pl.Expr:
    """Return the number of characters, each counted by its weight."""
    length = text.str.len_chars().cast(pl.Float64)
    for weight, scripts in _by_weight(tuple(WEIGHTS), "sc").items():
        length += _only(text, scripts).str.len_chars() * (weight - 1)
    return length


def _by_weight(scripts: tuple[str, ...], unicode_property: str) -> dict[float, str]:
    """Return the bodies of classes that together hold the scripts, each with the weight of its characters.

    The property is ``sc``, by which every character is of one script, or ``scx``, by which one may be of several.
    """
    bodies: dict[float, str] = {}
    for script in scripts:
        weight = WEIGHTS.get(script, 1.0)
        bodies[weight] = bodies.get(weight, "") + rf"\p{{{unicode_property}={script}}}"
    return bodies


def _only(text: pl.Expr, letters: str) -> pl.Expr:
    """Keep the characters of a class only: this and their number is far cheaper than to count them one by one."""
    return text.str.replace_all(f"[^{letters}]+", "")


def uneven(frame: pl.DataFrame, *, most: float) -> pl.Series:
    """Mark pairs of which one side is more than `most` times as long as the other, in weighted characters."""

    def exact(suspects: pl.DataFrame) -> pl.Series:
        source, target = weighted_length(pl.col("source")), weighted_length(pl.col("target"))
        return mark(suspects, (source > most * (target + _SLACK)) | (target > most * (source + _SLACK)))

    source, target = pl.col("source").str, pl.col("target").str
    # The weighted length is at least the number of characters and at most the number of bytes.
    might_be = (source.len_bytes() > most * (target.len_chars() + _SLACK)) | (
        target.len_bytes() > most * (source.len_chars() + _SLACK)
    )
    return among(frame, mark(frame, might_be), exact)


def few_letters(frame: pl.DataFrame, *, least: float) -> pl.Series:
    """Mark pairs with a side of which, by weight, less than the share `least` is letters, and those with no letter.

    Spaces and numbers do not count: "am 3.10.1990" is all letters.
    """

    def few(text: pl.Expr, length: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        letters = length(_only(text, _LETTER))
        others = text.str.replace_all(rf"[{_LETTER}\s]+|{_NUMBER}", "").str.len_chars()
        return (letters == 0) | (letters < least * (letters + others))

    plain = _plainly_letters(least)
    doubtful = among(
        frame,
        either(frame, lambda text: ~text.str.contains(plain)),
        lambda some: either(some, lambda text: few(text, lambda letters: letters.str.len_chars())),
    )
    return among(frame, doubtful, lambda some: either(some, lambda text: few(text, weighted_length)))


def _plainly_letters(least: float) -> str:
    """Return a pattern of texts that have letters enough: around each stretch of them no more others than it affords.

    Three letters afford more than one does, and so most sentences with a number or a quotation pass too.
    """
    afforded = (1 - least) / least if least else 0.0
    one, three = min(int(afforded), 3), min(int(3 * afforded), 6)
    letter, other, free = rf"[{_LETTER}]", rf"(?:[^{_LETTER}\s\d][\s\d]*)", r"[\s\d]*"
    long = rf"{other}{{0,{three // 3}}}{letter}{{3}}{letter}*{free}{other}{{0,{three - three // 3}}}"
    short = rf"{letter}{{1,2}}{free}{other}{{0,{one}}}"
    return rf"^{free}(?:{long}|{short})+$"


def foreign_script(frame: pl.DataFrame, *, source: str, target: str, least: float) -> pl.Series:
    """Mark pairs with a side of whose letters less than the share `least` is of its language's scripts.

    Only letters of these scripts are weighted: 我用 Twitter is nearly half Chinese. Words in another script that the
    other side holds too, names for the most part, do not count, if there is any letter of the language beside them.
    """
    marks = [
        _foreign_side(frame, side, other, language, least)
        for side, other, language in zip(SIDES, reversed(SIDES), (source, target), strict=True)
    ]
    return marks[0] | marks[1]


def _foreign_side(frame: pl.DataFrame, side: str, other: str, language: str, least: float) -> pl.Series:
    own = "".join(_by_weight(own_scripts(language), "scx").values())
    own_letters = _only(pl.col(side), rf"\p{{L}}&&[{own}]").alias("own")
    foreign_words = rf"[\p{{L}}--[{own}]]+"

    def exact(suspects: pl.DataFrame) -> pl.Series:
        here, there = (pl.col(column).str.extract_all(foreign_words) for column in (side, other))
        rows = suspects.select(own_letters, here=here, there=there).rows()
        return foreign_to(pl.Series([_without_shared(*row) for row in rows], dtype=pl.String), language, least)

    return among(frame, foreign_to(frame[side], language, least), exact)


def _without_shared(own_letters: str, words: list[str], other_words: list[str]) -> str:
    """Return the letters of a side less the words that the other side holds too, if it has letters of its own."""
    shared = set(other_words) if own_letters else set()
    return " ".join([own_letters, *(word for word in words if word not in shared)])


def foreign_to(texts: pl.Series, language: str, least: float) -> pl.Series:
    """Mark texts of whose letters less than the share `least` is of the language's scripts, if these are known."""
    scripts = _by_weight(own_scripts(language), "scx")
    frame = texts.alias("text").to_frame()
    if not scripts:
        return mark(frame, pl.repeat(value=False, n=pl.len(), dtype=pl.Boolean))
    every = "".join(scripts.values())
    text = pl.col("text")

    def exact(suspects: pl.DataFrame) -> pl.Series:
        own = [weight * _only(text, rf"\p{{L}}&&[{body}]").str.len_chars() for weight, body in scripts.items()]
        foreign = _only(text, rf"\p{{L}}--[{every}]").str.len_chars()
        return mark(suspects, pl.sum_horizontal(own) * (1 - least) < least * foreign)

    return among(frame, mark(frame, text.str.contains(rf"[\p{{L}}--[{every}]]")), exact)
