"""Text written so that Markdown takes none of it for markup."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from dragoman.markup.marked import Marked

__all__ = ["escaped"]

_MARKUP = re.compile(
    rf"[`\[\]]|\\(?=[{re.escape(string.punctuation)}\n]|\Z)|(?<=\S)\*|\*(?=\S)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
    r"|(?<=~)~|~(?=~)|(?<=\s)#(?=#*\Z)"
    r"|(?!(?<=[^\W_])_(?=[^\W_]))(?!(?<!\S)_(?!\S))_"  # neither between letters nor between spaces
)
"""What may be taken for markup wherever it stands in a line."""
_LINE_START = re.compile(
    r"#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|=+[ \t]*$|-+[ \t]*$|(?:[-_*][ \t]*){3,}$|~~~|\|", re.MULTILINE
)
_VERBATIM = (re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)"), re.compile(r"<[^<>\s]*>"))
_NUMBERED = re.compile(r"(\d{1,9})[.)](?=\s|$)")


def escaped(marked: Marked, verbatim: Collection[str], breaks: Sequence[int]) -> Marked:
    """A translation with backslashes before what would be markup, and line breaks in the place of some spaces.

    Code and the like (`verbatim`) is written as it is.
    """
    letters = list(marked.text)
    for place in breaks:
        letters[place] = "\n"
    text = "".join(letters)
    starts = {span.start for span in marked.spans}
    free = [True] * len(text)
    found = chain.from_iterable(pattern.finditer(text) for pattern in _VERBATIM)
    for start, end in chain(marked.kept, (match.span() for match in found)):
        if text[start:end] in verbatim:
            free[start:end] = [False] * (end - start)
    markup = {found.start() for found in _MARKUP.finditer(text)} | {
        _guarded(text, start) for start in _line_starts(text)
    }
    markup |= {
        start - 1 for start in starts if text[max(0, start - 1) : start] in ("\\", "!")
    }  # before a link it is an image
    pieces = [
        "\\" + character if free[place] and place in markup else character for place, character in enumerate(text)
    ]
    moved = [0, *accumulate(map(len, pieces))]
    spans = tuple(replace(span, start=moved[span.start], end=moved[span.end]) for span in marked.spans)
    kept = tuple((moved[start], moved[end]) for start, end in marked.kept)
    return Marked("".join(pieces), spans, kept)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _guarded(text: str, start: int) -> int | None:
    """Which character of a line to escape, so that it begins no list, quote, heading or rule."""
    if numbered := _NUMBERED.match(text, start):
        return numbered.end(1)
    return start if _LINE_START.match(text, start) else None
