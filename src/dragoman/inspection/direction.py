"""Where a sentence begins: at the left, or at the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["direction"]


def direction(words: Iterable[str]) -> str:
    """``rtl`` or ``ltr``, by the first letter of a text or of words; ``dir="auto"`` does not look inside of ``bdi``."""
    kinds = (unicodedata.bidirectional(character) for word in words for character in word)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"
