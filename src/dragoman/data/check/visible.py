"""Text of a corpus made fit to be shown: what cannot be seen is spelt out, and what is too long is cut.

Such text is written by strangers. Shown as it is, it could move a terminal's cursor, or turn the direction of the words
around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

__all__ = ["LONGEST", "visible", "visible_parts"]

LONGEST = 320
"""So many characters of a text are shown, unless somebody asks for fewer."""

# Not printable by Python's reckoning, but harmless: the ideographic space, and the joiners that shape letters.
_HARMLESS = "\u3000\u200c\u200d"


def visible(text: str, longest: int = LONGEST) -> str:
    r"""The text in one line, with control characters, bidirectional overrides and the like as ``\x85``, ``\u202e``."""
    return "".join(part for part, _ in visible_parts(text, longest))


def visible_parts(text: str, longest: int = LONGEST) -> Iterator[tuple[str, bool]]:
    """The visible text in parts, each with whether it is spelt out and does not stand in the text like this."""
    cut = text if len(text) <= longest else text[: longest - 1]
    for is_plain, characters in groupby(cut, _is_plain):
        part = "".join(characters)
        yield (part, False) if is_plain else ("".join(map(_spell, part)), True)
    if cut != text:
        yield "…", False


def _is_plain(character: str) -> bool:
    return character.isprintable() or character in _HARMLESS


def _spell(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
