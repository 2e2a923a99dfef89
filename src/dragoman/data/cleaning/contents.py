"""Filters for what a translation keeps as it is: numbers, addresses, markup; and for what no text should hold."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

import polars as pl

from dragoman.data.cleaning.suspects import among, either, mark

__all__ = ["control_characters", "other_addresses", "other_markup", "other_numbers"]

_SEPARATOR = "[.,'’ \u00a0\u202f]"
_CHAIN = re.compile(f"[0-9]+(?:{_SEPARATOR}[0-9]+)*")
_GROUPED = re.compile("[0-9]{1,3}(?:[.,'’\u00a0\u202f][0-9]{3})+")
_DECADE = re.compile("(?:1[0-9]|20)[0-9]0")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")

_ADDRESS = re.compile(r"(?ai)(?:(?:https?|ftp)://|\bwww\.)[!#-;=?-_a-z~]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

_ELEMENTS = (
    "a abbr acronym address article aside audio b base big blockquote body br button caption center cite code col "
    "colgroup dd del dfn div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 "
    "h6 head header hr html i iframe img input ins kbd label legend li link main map mark meta nav nobr noscript ol "
    "optgroup option p param pre q s samp script section select small span strike strong style sub sup table tbody td "
    "textarea tfoot th thead title tr tt u ul var video wbr"
)
_TAG = re.compile(rf"(?i)<(/?)({'|'.join(_ELEMENTS.split())})(?:\s[^<>]*)?/?>")


def _differ(suspects: pl.DataFrame, differs: Callable[[str, str], bool]) -> pl.Series:
    pairs = zip(suspects["source"].to_list(), suspects["target"].to_list(), strict=True)
    return pl.Series("drop", [differs(source, target) for source, target in pairs], dtype=pl.Boolean)


def other_numbers(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs that both hold numbers of two digits or more, and none in common."""
    first, second = (pl.col(side).str.extract(rf"(\d(?:{_SEPARATOR}?\d)+)") for side in ("source", "target"))
    might_be = among(
        frame,
        mark(frame, pl.col("source").str.contains(r"\d{2}")),
        lambda some: mark(some, pl.col("target").str.contains(r"\d{2}") & (first != second)),
    )
    return among(frame, might_be, lambda suspects: _differ(suspects, _no_common_number))


def _no_common_number(source: str, target: str) -> bool:
    first, second = _numbers(source), _numbers(target)
    return bool(first) and bool(second) and first.isdisjoint(second)


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text as they may be written in another language, without zeros at either end.

    So 1,000 is 1.000, 12.5 million is 1250万, and 200,000 is 20万. A decade is also its last two digits ("die 80er")
    and its century.
    """
    if not text.isascii():
        text = _OTHER_DIGIT.sub(_western, text)
    found: set[str] = set()
    for match in _CHAIN.finditer(text):
        chain = match[0]
        found.add("".join(filter(str.isdecimal, chain)))
        if not _GROUPED.fullmatch(chain):
            found.update(re.findall("[0-9]{2,}", chain))
    for year in list(filter(_DECADE.fullmatch, found)):
        found |= {year[2:], str(int(year[:2]) + 1)}
    return {number.strip("0") for number in found if len(number) > 1} - {""}


def _western(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match[0]))


def other_addresses(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose web or mail addresses differ."""
    suspects = either(frame, lambda text: text.str.contains_any(["://", "www.", "WWW.", "@"]))
    return among(frame, suspects, lambda few: _differ(few, lambda *pair: len(set(map(_addresses, pair))) > 1))


def _addresses(text: str) -> frozenset[str]:
    return frozenset(_plain_address(found) for found in _ADDRESS.findall(text))


def _plain_address(address: str) -> str:
    """Leave out what does not tell addresses apart: case, scheme, www, and the punctuation that follows."""
    without_scheme = address.lower().split("://", 1)[-1]
    return without_scheme.removeprefix("www.").rstrip(".,;:!?)]'*_-/")


def other_markup(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose HTML tags differ; attributes do not matter, nor does the order."""
    suspects = either(frame, lambda text: text.str.contains("<", literal=True))
    return among(frame, suspects, lambda few: _differ(few, lambda source, target: _tags(source) != _tags(target)))


def _tags(text: str) -> Counter[tuple[str, str]]:
    return Counter((match[1], match[2].lower()) for match in _TAG.finditer(text))


def control_characters(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs with control characters other than the tab. To be applied before they are mended."""
    return either(frame, lambda text: text.str.contains("[\x00-\x08\x0a-\x1f\x7f-\x9f]"))
