"""Report characters that suggest a wrong encoding or line break in a corpus; the text is not changed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import islice

import polars as pl

from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally
from dragoman.data.token_pairs import SIDES

__all__ = ["ALREADY_REPLACED", "note_suspicious_characters"]

ALREADY_REPLACED = "replacement character already there"
"""Note for U+FFFD in a file: the text was decoded wrongly before."""

_CLASSES = {
    "line separator inside a line": "\n\r\v\f\x85\u2028\u2029",
    "byte-order mark inside the text": "\ufeff",
    ALREADY_REPLACED: "\ufffd",
    "C1 control character": "".join(map(chr, range(0x80, 0xA0))).replace("\x85", ""),
}
_ALL = list("".join(_CLASSES.values()))
_NAMES = {"\n": "line feed", "\r": "carriage return", "\v": "vertical tab", "\f": "form feed"}


def note_suspicious_characters(
    frame: pl.DataFrame, files: tuple[str, str], replaced: Collection[int], notes: Tally
) -> None:
    """Note suspicious characters of both sides; `replaced` are lines in which the reader inserted U+FFFD."""
    for side, file in zip(SIDES, files, strict=True):
        odd = frame.filter(frame[side].str.contains_any(_ALL))  # twice as fast as a regular expression
        if not odd.height:
            continue
        for reason, characters in _CLASSES.items():
            found = odd.filter(odd[side].str.contains(f"[{characters}]"))
            if reason == ALREADY_REPLACED and replaced:
                found = found.filter(~found["line"].is_in(list(replaced)))
            notes.add(reason, found.height, _examples(found, side, file, characters))


def _examples(found: pl.DataFrame, side: str, file: str, characters: str) -> Iterator[Example]:
    for row in islice(found.iter_rows(named=True), MAX_EXAMPLES):
        match = re.search(f"[{characters}]", row[side])
        assert match is not None
        character = match.group()
        name = _NAMES.get(character) or unicodedata.name(character, "control character").lower()
        detail = f"U+{ord(character):04X} ({name}), character {match.start() + 1} of the {side}"
        yield Example(file, row["line"], row["source"], row["target"], detail)
