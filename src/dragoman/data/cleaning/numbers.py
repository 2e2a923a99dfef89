"""Numbers, which a translation keeps, though not always in the same digits."""

import re

import polars as pl

from dragoman.data.cleaning.suspects import among, differ, mark
from dragoman.data.pairs import SIDES
from dragoman.text.numbers import NUMBER_SEPARATOR, numbers

__all__ = ["other_numbers"]

_GROUPED = re.compile("[0-9]{1,3}(?:[.,'’\u00a0\u202f][0-9]{3})+")
_YEAR = re.compile("[12][0-9]{3}")
_HOURS_AFTER_NOON = {"22": "10", "23": "11", "24": "12"}  # those that have two digits both ways


def other_numbers(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with numbers on both sides that cannot be the same ones.

    Translators convert: miles to kilometres, ten in the evening to 22 o'clock, years to other calendars. So numbers of
    two digits or more must have nothing in common, and each side must have enough of them to be sure: two, or one with
    four digits before the zeros at its end. A year, or what might be one (1000 to 2999), is not counted for this.
    """
    first, second = (pl.col(side).str.extract(rf"(\d(?:{NUMBER_SEPARATOR}?\d)+)") for side in SIDES)
    might_be = among(
        frame,
        mark(frame, pl.col("source").str.contains(r"\d{2}")),
        lambda some: mark(some, pl.col("target").str.contains(r"\d{2}") & (first != second)),
    )
    return among(frame, might_be, lambda suspects: differ(suspects, _other_numbers))


def _other_numbers(source: str, target: str) -> bool:
    first, second = set(numbers(source)), set(numbers(target))
    enough = all(len(_countable(chains)) > 1 for chains in (first, second)) or all(
        any(map(_is_long, chains)) for chains in (first, second)
    )
    return enough and _spellings(first).isdisjoint(_spellings(second))


def _countable(chains: set[str]) -> list[str]:
    return [chain for chain in chains if len(_digits(chain)) > 1 and not _YEAR.fullmatch(chain)]


def _is_long(chain: str) -> bool:
    """Whether a number is exact enough to be copied, not rounded or converted."""
    parts = [part for part in _parts(chain) if not _YEAR.fullmatch(part)] or (
        [_digits(chain)] if _GROUPED.fullmatch(chain) else []
    )
    return any(len(number.strip("0")) > 3 for number in parts)


def _spellings(chains: set[str]) -> set[str]:
    """Return the numbers as they may be written in another language, without zeros at either end.

    So 1,000 is 1.000, 12.5 million is 1250万, and 200,000 is 20万. A year is also its last two digits ("die 80er"), a
    decade also its century, and an hour also that of the other half of the day.
    """
    found = {_digits(chain) for chain in chains}.union(*map(_parts, chains))
    for year in list(filter(_YEAR.fullmatch, found)):
        found |= {year[2:], str(int(year[:2]) + 1)} if year.endswith("0") else {year[2:]}
    found |= {_HOURS_AFTER_NOON[hour] for hour in found & _HOURS_AFTER_NOON.keys()}
    return {number.strip("0") for number in found if len(number) > 1} - {""}


def _digits(chain: str) -> str:
    return "".join(filter(str.isdecimal, chain))


def _parts(chain: str) -> list[str]:
    """Return the numbers of two digits or more that a chain is made of, unless it is plainly one number in groups."""
    return [] if _GROUPED.fullmatch(chain) else re.findall("[0-9]{2,}", chain)
