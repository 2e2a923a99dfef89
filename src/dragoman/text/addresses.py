"""Find web and mail addresses in a text."""

import re
from urllib.parse import unquote

__all__ = ["ADDRESS", "MAIL_ADDRESS", "WEB_ADDRESS", "find_addresses"]

WEB_ADDRESS = r"(?:(?:https?|ftp)://|\bwww\.)[!#-;=?-_a-z~]+"
"""Regular expression for Python and Rust; use it case-insensitively."""

MAIL_ADDRESS = r"[A-Za-z0-9_.+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"
"""Regular expression for Python and Rust."""

# The lookbehind keeps Python from trying a mail address at each letter of a long word; Rust needs none.
ADDRESS = re.compile(rf"(?ai){WEB_ADDRESS}|(?<![\w.+-]){MAIL_ADDRESS}")
"""Any address, compiled."""

_NOT_ASCII = re.compile(r"[^\x21-\x7e].*", re.DOTALL)
_FOLLOWING = ".,;:!?)]'*_-/"
_POSSESSIVE = re.compile("'[a-z]*$")


def find_addresses(text: str) -> frozenset[str]:
    """Return the addresses in a text in a normal form.

    The form has no scheme, no www, no trailing punctuation, lower case only, and ends before the first character that
    is not ASCII: unless percent-encoded, it may belong to the next word, for instance in Chinese.
    """
    return frozenset(_plain_address(found) for found in ADDRESS.findall(text))


def _plain_address(address: str) -> str:
    decoded = _NOT_ASCII.sub("", unquote(address)).lower()
    without_scheme = decoded.split("://", 1)[-1].removeprefix("www.")
    return _POSSESSIVE.sub("", without_scheme.rstrip(_FOLLOWING)).rstrip(_FOLLOWING)
