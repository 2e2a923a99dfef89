"""Mark sentence pairs to drop: HTML tags differ, or a text contains control characters."""

import re
from collections import Counter

import polars as pl

from dragoman.data.cleaning.filters.base import either_side, mark_differing, refine

__all__ = ["control_characters", "differing_markup"]

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
