"""Mark sentence pairs to drop: of uneven or extreme lengths, with few letters, in a wrong script, or repetitive."""

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.cleaning.filters.base import either_side, mark_pairs, refine
from dragoman.data.cleaning.filters.side_comparison import remove_addresses
from dragoman.data.token_pairs import SIDES
from dragoman.language_codes import primary_language
from dragoman.text.characters import SPACELESS
from dragoman.text.language_scripts import SCRIPTS, language_scripts

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


WEIGHTS = {"Han": 3.0, "Hiragana": 1.7, "Katakana": 1.7, "Hangul": 2.0}
"""Alphabetic characters per character of a script (else 1); at most its UTF-8 bytes, a bound of `uneven_lengths`."""

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
    """Return bodies of classes for the scripts, by weight; the property is ``sc`` (one script) or ``scx`` (several)."""
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
    """Mark pairs with a side with too small a share of letters, in weights, numbers ignored ("am 3.10.1990")."""

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
    """Return a fast pattern of texts that clearly have enough letters: few other characters around each run of them."""
    afforded = (1 - minimum) / minimum if minimum else 0.0
    one, three = min(int(afforded), 3), min(int(3 * afforded), 6)
    letter, other, free = rf"[{_LETTER}]", rf"(?:[^{_LETTER}\s\d][\s\d]*)", r"[\s\d]*"
    long = rf"{other}{{0,{three // 3}}}{letter}{{3}}{letter}*{free}{other}{{0,{three - three // 3}}}"
    short = rf"{letter}{{1,2}}{free}{other}{{0,{one}}}"
    return rf"^{free}(?:{long}|{short})+$"


def wrong_script(frame: pl.DataFrame, *, source: str, target: str, minimum: float) -> pl.Series:
    """Mark pairs with a side with few letters of its language's scripts, without words that are on both sides."""
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


_SPACELESS_SCRIPTS = {"Han", "Khmer", "Lao", "Myanmar", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Thai", "Tibetan"}

SPACELESS_LANGUAGES = frozenset(
    language for language, scripts in SCRIPTS.items() if _SPACELESS_SCRIPTS.intersection(scripts)
) - {"ko", "pi", "za"}
"""Languages in which runs of characters, not of words, are counted."""

_LONGEST_RUN = 50
"""Maximum length of a run in words or characters; longer runs are not detected."""

_ROWS_AT_ONCE = 8192  # intermediate results of a block fit into the processor's cache

# Number of bytes of a character in UTF-8 by its first byte, and masks of 0 to 4 bytes.
_CHARACTER_BYTES = np.array(
    [1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0) for byte in range(256)], dtype=np.uint8
)
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], dtype=np.uint32)


def repetitive(frame: pl.DataFrame, *, source: str, target: str, maximum: int) -> pl.Series:
    """Mark pairs with a side in which a run of words (or characters) follows itself more than `maximum` times."""
    marks = [_repeats(frame, side, language, maximum) for side, language in zip(SIDES, (source, target), strict=True)]
    return marks[0] | marks[1]


def _repeats(frame: pl.DataFrame, side: str, language: str, maximum: int) -> pl.Series:
    spaceless = primary_language(language) in SPACELESS_LANGUAGES

    def exact(suspects: pl.DataFrame) -> pl.Series:
        found = [has_repetition(text if spaceless else text.split(), maximum) for text in suspects[side].to_list()]
        return pl.Series("drop", found, dtype=pl.Boolean)

    parts = [_suspects(part[side], spaceless, maximum) for part in frame.iter_slices(_ROWS_AT_ONCE)]
    return refine(frame, pl.concat(parts), exact) if parts else pl.Series("drop", [], dtype=pl.Boolean)


def has_repetition(tokens: Sequence[str], maximum: int) -> bool:
    """Whether a run of tokens follows itself more than `maximum` times; a run without a letter does not count."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
    return any(
        length >= period * (maximum + 1) and re.search(r"[^\W\d_]", "".join(tokens[start : start + period]))
        for period in range(1, min(_LONGEST_RUN, len(codes) // (maximum + 2)) + 1)
        for start, length in _stretches(codes[period:] == codes[:-period])
    )


def _stretches(marks: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield start and length of each stretch of True."""
    edges = np.flatnonzero(np.diff(marks, prepend=False, append=False)).tolist()
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield first, last - first


def _suspects(texts: pl.Series, spaceless: bool, maximum: int) -> pl.Series:
    """Mark every text that may be repetitive, and few others, with one pass over the column.

    A token is represented by its first four bytes. In a repetitive text with a run of `period` tokens, at least
    ``period * (maximum + 1)`` consecutive tokens equal the token `period` positions later. They contain an aligned
    block of half that size, and blocks of up to eight truth values are compared as one number.
    """
    starts, keys = _tokens(texts, spaceless)
    ends = (texts.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_numpy()
    marks = np.zeros(len(texts), dtype=np.bool_)
    longest = int(np.diff(np.searchsorted(starts, ends), prepend=0).max(initial=0))
    for period in range(1, min(_LONGEST_RUN, longest // (maximum + 2)) + 1):
        size = max(size for size in (1, 2, 4, 8) if size == 1 or 2 * size <= period * (maximum + 1))
        same = keys[period:] == keys[:-period]
        blocks = same[: len(same) // size * size].view(f"u{size}")
        first = np.flatnonzero(blocks == int("01" * size, 16)) * size
        row = np.searchsorted(ends, starts[first], side="right")
        marks[row[row == np.searchsorted(ends, starts[first + size - 1 + period], side="right")]] = True
    return pl.Series("drop", marks)


def _tokens(texts: pl.Series, spaceless: bool) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the start of each word (or character) in the joined texts, and its first four bytes at most."""
    joined = texts.str.join("\n").cast(pl.Binary).item() + b"\n\n\n\n"
    buffer = np.frombuffer(joined, dtype=np.uint8)
    if spaceless:
        starts = np.flatnonzero((buffer[:-4] & 0xC0) != 0x80)  # not the second or a later byte of a character
        sizes = _CHARACTER_BYTES[buffer[starts]]
    else:
        edges = np.flatnonzero(np.diff(buffer > 0x20, prepend=False))
        starts, sizes = edges[::2], np.minimum(edges[1::2] - edges[::2], 4)
    windows: NDArray[np.uint32] = np.ndarray(len(buffer) - 3, dtype="<u4", buffer=joined, strides=(1,))
    return starts, windows[starts] & _MASKS[sizes]
