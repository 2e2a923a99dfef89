"""Web and mail addresses in a text."""

import re
from urllib.parse import unquote

__all__ = ["ADDRESS", "MAIL_ADDRESS", "WEB_ADDRESS", "addresses"]

WEB_ADDRESS = r"(?:(?:https?|ftp)://|\bwww\.)[!#-;=?-_a-z~]+"
"""A regular expression, for Python as for Rust, to be used without regard to case."""

MAIL_ADDRESS = r"[A-Za-z0-9_.+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"
"""A regular expression, for Python as for Rust."""

# The lookbehind keeps Python from trying a mail address at each letter of a long word; Rust needs none.
ADDRESS = re.compile(rf"(?ai){WEB_ADDRESS}|(?<![\w.+-]){MAIL_ADDRESS}")
"""Any address, compiled."""

_NOT_ASCII = re.compile(r"[^\x21-\x7e].*", re.DOTALL)
_FOLLOWING = ".,;:!?)]'*_-/"
_POSSESSIVE = re.compile("'[a-z]*$")


def addresses(text: str) -> frozenset[str]:
    """Return the addresses in a text, without what does not tell them apart.

    That is case, scheme, www, the punctuation or ending that follows, and what follows the first character outside
    ASCII: where it is not percent-encoded, nobody can tell whether it still belongs to the address or is the next word
    of Chinese.
    """
    return frozenset(_plain_address(found) for found in ADDRESS.findall(text))


def _plain_address(address: str) -> str:
    decoded = _NOT_ASCII.sub("", unquote(address)).lower()
    without_scheme = decoded.split("://", 1)[-1].removeprefix("www.")
    return _POSSESSIVE.sub("", without_scheme.rstrip(_FOLLOWING)).rstrip(_FOLLOWING)
