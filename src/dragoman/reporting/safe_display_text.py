"""Make untrusted text safe to display: escape invisible characters, isolate right-to-left words, truncate.

Control characters could move the cursor of a terminal; direction marks could reorder the words around them.

Some terminals apply the Unicode bidirectional algorithm, others do not. Marks of zero width, which the latter ignore,
make a word or a line a separate run for the former, so that the columns around it keep their positions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MAX_LENGTH = 320
"""Characters of a text that are shown by default."""

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}  # fmt: skip

# Not printable for Python, but harmless: the ideographic space and the joiners that shape letters.
_HARMLESS = "\u3000\u200c\u200d"

_LEFT_MARK, _RIGHT_MARK = "\u200e", "\u200f"
_ISOLATE, _END = "\u2067", "\u2069"
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


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


def text_direction(words: Iterable[str]) -> str:
    """Return ``rtl`` or ``ltr`` by the first letter of a text or of words; ``dir="auto"`` ignores text in ``bdi``."""
    kinds = (unicodedata.bidirectional(character) for word in words for character in word)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def has_right_to_left(text: str) -> bool:
    """Whether any character belongs to a right-to-left script."""
    return any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


def reading_order(
    source: str, columns: Sequence[str], weights: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Order the columns of an attention map from left to right as the source is read. Shapes: weights [tgt, src]."""
    if text_direction(source) == "rtl":
        return tuple(columns)[::-1], weights[:, ::-1]
    return tuple(columns), weights


def isolate_word(word: str) -> str:
    """Isolate a word within a left-to-right line; its punctuation stays next to it."""
    if not has_right_to_left(word):
        return word
    return f"{_LEFT_MARK}{_RIGHT_MARK}{word}{_RIGHT_MARK}{_LEFT_MARK}"


def isolate_line(text: str) -> str:
    """Isolate a part of a sentence as one run in its own direction."""
    if not has_right_to_left(text):
        return text
    isolated = f"{_ISOLATE}{text}{_END}" if text_direction(text) == "rtl" else text
    return f"{_LEFT_MARK}{isolated}{_LEFT_MARK}"
