"""Properties of Unicode characters: valid, combining, belonging to a script without spaces.

The properties come from the Unicode tables of the interpreter, except for the list of scripts without spaces, which the
standard library does not have.
"""

import functools
import re
import unicodedata
from collections.abc import Callable

from dragoman.errors import DataError

# Zero-width joiner and non-joiner change the shape of the letters around them, so a word does not end at one.
_JOINERS = "\u200c\u200d"

# Marks are in the first two planes, variation selectors in plane 14; a test checks all of Unicode.
_MARKS = (range(0x300, 0xD800), range(0xE000, 0x20000), range(0xE0000, 0xE1000))

_SPACELESS_RANGES = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x312F),  # radicals, CJK punctuation, kana, Bopomofo
    (0x3190, 0x4DBF),  # Kanbun, enclosed forms, Han extension A
    (0x4E00, 0xA4CF),  # Han, Yi
    (0xA980, 0xA9FF),  # Javanese, Myanmar extension B
    (0xAA60, 0xAADF),  # Myanmar extension A, Tai Viet
    (0xF900, 0xFAFF),  # Han compatibility forms
    (0xFE30, 0xFE4F),  # vertical punctuation
    (0xFF01, 0xFF0F),  # full-width punctuation, in four stretches around digits and letters
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF9F),  # … and half-width kana
    (0x16FE0, 0x18DFF),  # Tangut, Khitan
    (0x1AFF0, 0x1B2FF),  # further kana, Nüshu
    (0x20000, 0x3FFFF),  # Han extensions
)

OPENING = "([{<\u00ab\u2018\u201c\u201e\u2039\u00bf\u00a1\u3008\u300a\u300c\u300e\u3010\uff08"
STOPS = ".,;:!?\u2026\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f"
"""Marks that end a sentence or a part of one."""
CLOSING = STOPS + ")]}>\u00bb\u2019\u201d\u203a\u3009\u300b\u300d\u300f\u3011\uff09"

PAIRS = {"(": ")", "[": "]", '"': '"', "'": "'", "\u2018": "\u2019", "\u201c": "\u201d", "\u201e": "\u201c"}


def _class_body(ranges: list[tuple[int, int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


SPACELESS = _class_body(list(_SPACELESS_RANGES))
"""Body of a regular-expression class: characters of scripts without spaces between words."""


@functools.cache
def _spaceless() -> re.Pattern[str]:
    return re.compile(f"[{SPACELESS}]")  # takes 5 ms


def is_spaceless(character: str) -> bool:
    """Whether the script of this character has no spaces between words. Hangul has spaces."""
    return character >= "\u0e00" and _spaceless().match(character) is not None


def attaches(character: str) -> bool:
    """Whether this character combines with the one before it: marks, variation selectors and joiners."""
    return character >= "\u0300" and (unicodedata.category(character)[0] == "M" or character in _JOINERS)


def code_point_class(belongs: Callable[[str], bool], spans: tuple[range, ...] = _MARKS) -> str:
    """Return the body of a class of every character in spans (those with marks) that ``belongs``; slow, so cache it."""
    ranges: list[tuple[int, int]] = []
    for span in spans:
        for code in span:
            if not belongs(chr(code)):
                continue
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return _class_body(ranges)


@functools.cache
def attaching_class() -> str:
    """Return the body of a regular-expression class with every character that `attaches`."""
    return code_point_class(attaches)


def check_unicode(text: str) -> str:
    """Return the text unchanged, or raise `DataError` if it contains a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(text[error.start]):04X} at character {error.start}"
        raise DataError(f"text must be valid Unicode, got the lone surrogate {found}; decode it as UTF-8") from None
    return text


def has_letters(text: str) -> bool:
    """Whether a text contains a letter."""
    return any(map(str.isalpha, text))


PAIRS |= {"\u00ab": "\u00bb", "\u2039": "\u203a", "\u300c": "\u300d", "\uff08": "\uff09"}


def joins(character: str) -> bool:
    """Whether a character is a letter or digit that forms one word with an adjacent letter; False if empty."""
    return character.isalnum() and not is_spaceless(character)
