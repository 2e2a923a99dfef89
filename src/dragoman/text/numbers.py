"""Find numbers in a text, in the digits of any script and with the separators of any language."""

import re
import unicodedata

__all__ = ["NUMBER_SEPARATOR", "find_numbers"]

NUMBER_SEPARATOR = "[.,'’ \u00a0\u202f万萬亿億兆만억조]"
"""Regular expression of a separator between the digits of one number."""

_CHAIN = re.compile(f"[0-9]+(?:{NUMBER_SEPARATOR}[0-9]+)*")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, with their separators and in ASCII digits.

    A result may be several numbers: 1 234, 3.10.1990, 1億2345万.
    """
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)
    return _CHAIN.findall(text)
