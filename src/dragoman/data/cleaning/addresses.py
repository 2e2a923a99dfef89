"""Web and mail addresses, which a translation keeps as they are."""

import re
from urllib.parse import unquote

import polars as pl

from dragoman.data.cleaning.suspects import among, differ, either

__all__ = ["other_addresses", "without_addresses"]

_WEB = r"(?:(?:https?|ftp)://|\bwww\.)[!#-;=?-_a-z~]+"
_MAIL = r"[A-Za-z0-9_.+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"

# The lookbehind keeps Python from trying a mail address at each letter of a long word; Rust needs none.
_address = re.compile(rf"(?ai){_WEB}|(?<![\w.+-]){_MAIL}")

_NOT_ASCII = re.compile(r"[^\x21-\x7e].*", re.DOTALL)
_FOLLOWING = ".,;:!?)]'*_-/"
_POSSESSIVE = re.compile("'[a-z]*$")


def other_addresses(frame: pl.DataFrame) -> pl.Series:
    """Mark pairs whose web or mail addresses differ."""
    suspects = either(frame, lambda text: text.str.contains_any(["://", "www.", "WWW.", "@"]))
    return among(frame, suspects, lambda few: differ(few, lambda *pair: len(set(map(_addresses, pair))) > 1))


def without_addresses(text: pl.Expr) -> pl.Expr:
    """Put a space for each web or mail address."""
    return text.str.replace_all(rf"(?i){_WEB}|{_MAIL}", " ")


def _addresses(text: str) -> frozenset[str]:
    return frozenset(_plain_address(found) for found in _address.findall(text))


def _plain_address(address: str) -> str:
    """Leave out what does not tell addresses apart: case, scheme, www, the punctuation or ending that follows.

    Nor does what follows the first character outside ASCII: where it is not percent-encoded, nobody can tell whether
    it still belongs to the address or is the next word of Chinese.
    """
    decoded = _NOT_ASCII.sub("", unquote(address)).lower()
    without_scheme = decoded.split("://", 1)[-1].removeprefix("www.")
    return _POSSESSIVE.sub("", without_scheme.rstrip(_FOLLOWING)).rstrip(_FOLLOWING)
