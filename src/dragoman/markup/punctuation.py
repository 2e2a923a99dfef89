"""Classes of punctuation characters: opening, closing, separating, paired."""

from __future__ import annotations

from dragoman.text.characters import is_spaceless

__all__ = ["CLOSING", "OPENING", "PAIRS", "STOPS", "joins"]

OPENING = "([{<\u00ab\u2018\u201c\u201e\u2039\u00bf\u00a1\u3008\u300a\u300c\u300e\u3010\uff08"
STOPS = ".,;:!?\u2026\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f"
"""Marks that end a sentence or a part of one."""
CLOSING = STOPS + ")]}>\u00bb\u2019\u201d\u203a\u3009\u300b\u300d\u300f\u3011\uff09"

PAIRS = {"(": ")", "[": "]", '"': '"', "'": "'", "\u2018": "\u2019", "\u201c": "\u201d", "\u201e": "\u201c"}
PAIRS |= {"\u00ab": "\u00bb", "\u2039": "\u203a", "\u300c": "\u300d", "\uff08": "\uff09"}


def joins(character: str) -> bool:
    """Whether a character is a letter or digit that forms one word with an adjacent letter; False if empty."""
    return character.isalnum() and not is_spaceless(character)
