"""Mark sentence pairs to drop: the sides are copies, or have other numbers, addresses or markup."""

import re
from collections import Counter

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dragoman.data.cleaning.filters.base import either_side, mark_differing, mark_pairs, refine
from dragoman.data.token_pairs import SIDES
from dragoman.text.numbers_and_addresses import (
    MAIL_ADDRESS,
    NUMBER_SEPARATOR,
    WEB_ADDRESS,
    find_addresses,
    find_numbers,
)


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


_GROUPED = re.compile("[0-9]{1,3}(?:[.,'’\u00a0\u202f][0-9]{3})+")
_YEAR = re.compile("[12][0-9]{3}")
_HOURS_AFTER_NOON = {"22": "10", "23": "11", "24": "12"}  # those that have two digits both ways


def differing_numbers(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with numbers on both sides that cannot be equal.

    Translators convert numbers: miles to kilometres, ten in the evening to 22 o'clock, years to other calendars. A pair
    is marked only if the sides have no number of two digits or more in common and each side has enough of them: two,
    or one with four digits before trailing zeros. Possible years (1000 to 2999) do not count.
    """
    first, second = (pl.col(side).str.extract(rf"(\d(?:{NUMBER_SEPARATOR}?\d)+)") for side in SIDES)
    might_be = refine(
        frame,
        mark_pairs(frame, pl.col("source").str.contains(r"\d{2}")),
        lambda some: mark_pairs(some, pl.col("target").str.contains(r"\d{2}") & (first != second)),
    )
    return refine(frame, might_be, lambda suspects: mark_differing(suspects, _other_numbers))


def _other_numbers(source: str, target: str) -> bool:
    first, second = set(find_numbers(source)), set(find_numbers(target))
    enough = all(len(_countable(chains)) > 1 for chains in (first, second)) or all(
        any(map(_is_long, chains)) for chains in (first, second)
    )
    return enough and _spellings(first).isdisjoint(_spellings(second))


def _countable(chains: set[str]) -> list[str]:
    return [chain for chain in chains if len(_digits(chain)) > 1 and not _YEAR.fullmatch(chain)]


def _is_long(chain: str) -> bool:
    """Whether a number has enough digits that a translator copies it instead of rounding or converting it."""
    parts = [part for part in _parts(chain) if not _YEAR.fullmatch(part)] or (
        [_digits(chain)] if _GROUPED.fullmatch(chain) else []
    )
    return any(len(number.strip("0")) > 3 for number in parts)


def _spellings(chains: set[str]) -> set[str]:
    """Return the possible spellings of numbers in another language, without zeros at either end.

    1,000 equals 1.000, 12.5 million equals 1250万, and 200,000 equals 20万. A year also matches its last two digits
    ("die 80er"), a decade its century, and an hour the 12-hour form.
    """
    found = {_digits(chain) for chain in chains}.union(*map(_parts, chains))
    for year in list(filter(_YEAR.fullmatch, found)):
        found |= {year[2:], str(int(year[:2]) + 1)} if year.endswith("0") else {year[2:]}
    found |= {_HOURS_AFTER_NOON[hour] for hour in found & _HOURS_AFTER_NOON.keys()}
    return {number.strip("0") for number in found if len(number) > 1} - {""}


def _digits(chain: str) -> str:
    return "".join(filter(str.isdecimal, chain))


def _parts(chain: str) -> list[str]:
    """Return the numbers of two digits or more in a chain; empty if it is one number with digit groups."""
    return [] if _GROUPED.fullmatch(chain) else re.findall("[0-9]{2,}", chain)


def differing_addresses(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose web or mail addresses differ."""
    suspects = either_side(frame, lambda text: text.str.contains_any(["://", "www.", "WWW.", "@"]))
    return refine(
        frame, suspects, lambda few: mark_differing(few, lambda *pair: len(set(map(find_addresses, pair))) > 1)
    )


def remove_addresses(text: pl.Expr) -> pl.Expr:
    """Replace each web or mail address by a space."""
    return text.str.replace_all(rf"(?i){WEB_ADDRESS}|{MAIL_ADDRESS}", " ")


_ELEMENTS = (
    "a abbr acronym address article aside audio b base big blockquote body br button caption center cite code col "
    "colgroup dd del dfn div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 "
    "h6 head header hr html i iframe img input ins kbd label legend li link main map mark meta nav nobr noscript ol "
    "optgroup option p param pre q s samp script section select small span strike strong style sub sup table tbody td "
    "textarea tfoot th thead title tr tt u ul var video wbr"
)
_TAG = re.compile(rf"(?i)<(/?)({'|'.join(_ELEMENTS.split())})(?:\s[^<>]*)?/?>")


def differing_markup(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose HTML tags differ; attributes and order are ignored."""
    suspects = either_side(frame, lambda text: text.str.contains("<", literal=True))
    return refine(
        frame, suspects, lambda few: mark_differing(few, lambda source, target: _tags(source) != _tags(target))
    )


def _tags(text: str) -> Counter[tuple[str, str]]:
    return Counter((match[1], match[2].lower()) for match in _TAG.finditer(text))


def control_characters(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with control characters other than tab. Apply it before normalization removes them."""
    return either_side(frame, lambda text: text.str.contains("[\x00-\x08\x0a-\x1f\x7f-\x9f]"))
