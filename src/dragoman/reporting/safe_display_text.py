r"""Make untrusted text safe to display: escape invisible characters and truncate long texts.

Control characters could move the cursor of a terminal; direction marks could reorder the words around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

__all__ = ["DEFAULT_MAX_LENGTH", "visible", "visible_parts", "without_controls"]

DEFAULT_MAX_LENGTH = 320
"""Characters of a text that are shown by default."""

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}  # fmt: skip

# Not printable for Python, but harmless: the ideographic space and the joiners that shape letters.
_HARMLESS = "\u3000\u200c\u200d"


def without_controls(text: str) -> str:
    r"""Return the complete text with control characters except line feed and tab as ``\x1b``.

    A terminal executes escape sequences in the output of a model or in a corpus.
    """
    return text.translate(_CONTROLS)


def visible(text: str, max_length: int = DEFAULT_MAX_LENGTH) -> str:
    r"""Return the text in one line, with control characters, direction marks and the like as ``\x85``, ``\u202e``."""
    return "".join(part for part, _ in visible_parts(text, max_length))


def visible_parts(text: str, max_length: int = DEFAULT_MAX_LENGTH) -> Iterator[tuple[str, bool]]:
    """Yield the visible text in parts, each with whether it is an escape sequence."""
    cut = text if len(text) <= max_length else text[: max_length - 1]
    for is_printable, characters in groupby(cut, _is_printable):
        part = "".join(characters)
        yield (part, False) if is_printable else ("".join(map(_escape, part)), True)
    if cut != text:
        yield "…", False


def _is_printable(character: str) -> bool:
    return character.isprintable() or character in _HARMLESS


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
