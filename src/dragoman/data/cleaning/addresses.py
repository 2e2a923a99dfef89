"""Web and mail addresses, which a translation keeps as they are."""

import polars as pl

from dragoman.data.cleaning.suspects import among, differ, either
from dragoman.text.addresses import MAIL_ADDRESS, WEB_ADDRESS, addresses

__all__ = ["other_addresses", "without_addresses"]


def other_addresses(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose web or mail addresses differ."""
    suspects = either(frame, lambda text: text.str.contains_any(["://", "www.", "WWW.", "@"]))
    return among(frame, suspects, lambda few: differ(few, lambda *pair: len(set(map(addresses, pair))) > 1))


def without_addresses(text: pl.Expr) -> pl.Expr:
    """Put a space for each web or mail address."""
    return text.str.replace_all(rf"(?i){WEB_ADDRESS}|{MAIL_ADDRESS}", " ")
