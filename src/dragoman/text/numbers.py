"""Numbers in a text, in the digits of any script and with the separators of any language."""

import re
import unicodedata

__all__ = ["NUMBER_SEPARATOR", "numbers"]

NUMBER_SEPARATOR = "[.,'’ \u00a0\u202f万萬亿億兆만억조]"
"""A regular expression: what may stand between the digits of one number."""

_CHAIN = re.compile(f"[0-9]+(?:{NUMBER_SEPARATOR}[0-9]+)*")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, and what may be one number or several: 1 234, 3.10.1990, 1億2345万.

    Their separators are left as they are; digits are those of ASCII.
    """
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)
    return _CHAIN.findall(text)
