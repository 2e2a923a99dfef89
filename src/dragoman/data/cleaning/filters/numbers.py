"""Mark sentence pairs to drop: the numbers in source and target differ."""

import re

import polars as pl

from dragoman.data.cleaning.filters.base import mark_differing, mark_pairs, refine
from dragoman.data.token_pairs import SIDES
from dragoman.text.numbers import NUMBER_SEPARATOR, find_numbers

__all__ = ["differing_numbers"]

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
