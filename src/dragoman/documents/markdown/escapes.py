"""Escape text so that Markdown does not interpret it as markup."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from dragoman.markup.tagged_text import TaggedText

__all__ = ["escape_markup"]

_MARKUP = re.compile(
    rf"[`\[\]]|\\(?=[{re.escape(string.punctuation)}\n]|\Z)|(?<=\S)\*|\*(?=\S)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
    r"|(?<=~)~|~(?=~)|(?<=\s)#(?=#*\Z)"
    r"|(?!(?<=[^\W_])_(?=[^\W_]))(?!(?<!\S)_(?!\S))_"  # neither between letters nor between spaces
)
"""Characters that may be markup anywhere in a line."""
_LINE_START = re.compile(
    r"#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|=+[ \t]*$|-+[ \t]*$|(?:[-_*][ \t]*){3,}$|~~~|\|", re.MULTILINE
)
_VERBATIM = (re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)"), re.compile(r"<[^<>\s]*>"))
_NUMBERED = re.compile(r"(\d{1,9})[.)](?=\s|$)")


def escape_markup(tagged: TaggedText, verbatim: Collection[str], breaks: Sequence[int]) -> TaggedText:
    """Escape the markup characters of a translation, and replace the spaces at `breaks` by line breaks.

    Strings in `verbatim`, such as code, are not escaped.
    """
    letters = list(tagged.text)
    for place in breaks:
        letters[place] = "\n"
    text = "".join(letters)
    starts = {span.start for span in tagged.spans}
    free = [True] * len(text)
    found = chain.from_iterable(pattern.finditer(text) for pattern in _VERBATIM)
    for start, end in chain(tagged.kept, (match.span() for match in found)):
        if text[start:end] in verbatim:
            free[start:end] = [False] * (end - start)
    markup = {found.start() for found in _MARKUP.finditer(text)} | {
        _character_to_escape(text, start) for start in _line_starts(text)
    }
    # "!" before a link would make it an image
    markup |= {start - 1 for start in starts if text[max(0, start - 1) : start] in ("\\", "!")}
    fragments = [
        "\\" + character if free[place] and place in markup else character for place, character in enumerate(text)
    ]
    moved = [0, *accumulate(map(len, fragments))]
    spans = tuple(replace(span, start=moved[span.start], end=moved[span.end]) for span in tagged.spans)
    kept = tuple((moved[start], moved[end]) for start, end in tagged.kept)
    return TaggedText("".join(fragments), spans, kept)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _character_to_escape(text: str, start: int) -> int | None:
    """Return the character to escape so that a line does not start a list, quote, heading or rule."""
    if numbered := _NUMBERED.match(text, start):
        return numbered.end(1)
    return start if _LINE_START.match(text, start) else None
