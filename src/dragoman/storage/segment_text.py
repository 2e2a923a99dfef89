"""Forms in which segments of memories are compared: normal text, text without its variables, words.

Variables are what differs between two segments that have one translation: numbers, placeholders, tags and addresses.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from dataclasses import dataclass

from dragoman.markup.protected_spans import find_placeholders
from dragoman.text.characters import SPACELESS, attaching_class

VARIABLE = "\x1a"  # SUBSTITUTE
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")
_MAY_VARY = frozenset("0123456789{}[]<>%$@&`\\:_-/\x1a")
_ASCII_WORDS = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)} | {ord(VARIABLE): VARIABLE}
_ASCII_TERMS = _ASCII_WORDS | {ord(VARIABLE): " "}
_ASCII_TEXT = re.compile(f"[a-z0-9]+|{VARIABLE}")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which each variable is one character, and its variables."""

    text: str
    variables: tuple[str, ...] = ()

    @property
    def hash(self) -> int:
        """Hash of the text without its variables, 64 bits."""
        return int.from_bytes(hashlib.blake2b(self.text.encode(), digest_size=8).digest(), "big", signed=True)


def normalize_segment(text: str) -> str:
    """Return a segment in NFC, with single spaces, without NUL and halves of characters, which databases refuse."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    plain = " ".join(_UNSTORABLE.sub(" ", text).split())
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


def mask(text: str) -> Masked:
    """Replace the variables of a normal text."""
    spans = _variable_spans(text)
    if not spans:
        return Masked(text.replace(VARIABLE, " "))
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [text[at:start].replace(VARIABLE, " "), VARIABLE]
        at = end
    parts.append(text[at:].replace(VARIABLE, " "))
    return Masked("".join(parts), tuple(text[start:end] for start, end in spans))


def _variable_spans(text: str) -> list[tuple[int, int]]:
    if text.isascii() and _MAY_VARY.isdisjoint(text) and "ww." not in text.lower():
        return []
    spans = list(find_placeholders(text))
    numbers = [each.span() for each in _NUMBER.finditer(text)]
    spans += [(a, b) for a, b in numbers if not any(start < b and a < end for start, end in spans)]
    return sorted(spans)


def carry_over(old: Masked, new: Masked, target: str) -> str | None:
    """Return a translation of `old` with the variables of `new`, which has the same text otherwise.

    None if one of those that differ is not exactly as often in the translation, or would have two values.
    """
    if len(old.variables) != len(new.variables):
        return None
    changes: dict[str, str] = {}
    for before, after in zip(old.variables, new.variables, strict=True):
        if changes.setdefault(before, after) != after:
            return None
    spans = _variable_spans(target)
    found = [target[start:end] for start, end in spans]
    if any(a != b and found.count(a) != old.variables.count(a) for a, b in changes.items()):
        return None
    parts: list[str] = []
    at = 0
    for (start, end), variable in zip(spans, found, strict=True):
        parts += [target[at:start], changes.get(variable, variable)]
        at = end
    return "".join([*parts, target[at:]])


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    marks = attaching_class()
    return re.compile(rf"[{SPACELESS}][{marks}]*|(?:[^\W{SPACELESS}]|[{marks}])+|{VARIABLE}")


def segment_words(masked: str) -> list[str]:
    """Return the words of a text without variables in lower case; a character of a script without spaces is a word."""
    lower = masked.lower()
    if not lower.isascii():
        return _word_pattern().findall(lower)
    return _ASCII_TEXT.findall(lower) if VARIABLE in lower else lower.translate(_ASCII_WORDS).split()


def index_terms(masked: str) -> list[str]:
    """Return what the index of a memory has of a text: its words, and pairs of characters without spaces."""
    if masked.isascii():
        return masked.lower().translate(_ASCII_TERMS).split()
    terms: list[str] = []
    run = ""
    for word in segment_words(masked):
        is_single = len(word) == 1 and word > "\u0e00"
        if is_single and run:
            if len(run) == 1:
                terms.pop()
            terms.append(run[-1] + word)
        elif word != VARIABLE:
            terms.append(word)
        run = run[-1:] + word if is_single else ""
    return terms
