"""Mark sentence pairs to drop: web or mail addresses differ. Also remove addresses from texts."""

import polars as pl

from dragoman.data.cleaning.filters.base import either_side, mark_differing, refine
from dragoman.text.addresses import MAIL_ADDRESS, WEB_ADDRESS, find_addresses

__all__ = ["differing_addresses", "remove_addresses"]


def differing_addresses(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose web or mail addresses differ."""
    suspects = either_side(frame, lambda text: text.str.contains_any(["://", "www.", "WWW.", "@"]))
    return refine(
        frame, suspects, lambda few: mark_differing(few, lambda *pair: len(set(map(find_addresses, pair))) > 1)
    )


def remove_addresses(text: pl.Expr) -> pl.Expr:
    """Replace each web or mail address by a space."""
    return text.str.replace_all(rf"(?i){WEB_ADDRESS}|{MAIL_ADDRESS}", " ")
