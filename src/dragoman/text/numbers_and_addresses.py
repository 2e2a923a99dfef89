"""Find numbers, and web and mail addresses, in a text."""

import re
import unicodedata
from urllib.parse import unquote

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

NUMBER_SEPARATOR = "[.,'’ \u00a0\u202f万萬亿億兆만억조]"
"""Regular expression of a separator between the digits of one number."""

_CHAIN = re.compile(f"[0-9]+(?:{NUMBER_SEPARATOR}[0-9]+)*")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")


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


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, with separators, in ASCII digits; one may be several, such as 3.10.1990."""
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)
    return _CHAIN.findall(text)
