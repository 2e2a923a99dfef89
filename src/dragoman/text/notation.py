"""How text is written in pieces, the same for every tokenizer.

- ``▁`` (U+2581) stands for a space.
- ``<0xE4>`` stands for one byte of a character that the vocabulary lacks.
- A text that itself holds ``▁`` is escaped first, with the escape character U+001B, so that nothing is lost:
  ``▁`` becomes U+001B ``_`` and U+001B becomes U+001B U+001B.
- The special pieces stand for no text; ``<unk>`` stands for text that is not known any more.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from dragoman.text.characters import attaches
from dragoman.text.vocabulary import SPECIALS, UNKNOWN

__all__ = ["SPACE_MARK", "Unit", "escape", "join_pieces", "mark_spaces", "trace_pieces"]

SPACE_MARK = "▁"

_ESCAPE = "\x1b"
_ESCAPED = {"_": SPACE_MARK, _ESCAPE: _ESCAPE}
_BYTE = re.compile("<0x([0-9A-F]{2})>")

# Nothing but scripts with spaces: such a piece is cut at white space, any other at every character.
_SIMPLE = re.compile("[^\u0e00-\U0010ffff]*")
_STRETCH = re.compile(r"\s+|\S+")


class Unit(NamedTuple):
    """One character or one stretch of simple letters, and the pieces ``first`` to ``last`` (inclusive) that spell it.

    A unit is white space, or holds none; or it is a special piece, which stands for no text.
    """

    text: str
    first: int
    last: int
    is_special: bool = False


def escape(text: str) -> str:
    """Free the text of ``▁``, so that the mark can stand for a space."""
    if SPACE_MARK in text or _ESCAPE in text:
        return text.replace(_ESCAPE, _ESCAPE * 2).replace(SPACE_MARK, f"{_ESCAPE}_")
    return text


def mark_spaces(text: str) -> str:
    """Escape the text and write its spaces as ``▁``."""
    return escape(text).replace(" ", SPACE_MARK)


def join_pieces(pieces: Iterable[str], *, unknown: str = UNKNOWN) -> str:
    """Return the text that the pieces spell, with its marks turned into spaces and ``<unk>`` shown as ``unknown``."""
    pieces = list(pieces)
    joined = "".join(pieces)
    if "<" not in joined and _ESCAPE not in joined:  # nothing but plain pieces: the fast path
        return joined.replace(SPACE_MARK, " ")
    shown = dict.fromkeys(SPECIALS, "") | {UNKNOWN: unknown}
    return "".join(shown[unit.text] if unit.is_special else unit.text for unit in trace_pieces(pieces))


def trace_pieces(pieces: Sequence[str]) -> list[Unit]:
    """Return the text that the pieces spell, cut into units, each with the pieces it comes from."""
    joined = "".join(pieces)
    is_escaped = _ESCAPE in joined or f"<0x{ord(_ESCAPE):02X}>" in joined
    units: list[Unit] = []
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        width = 1
        if piece in SPECIALS:
            units.append(Unit(piece, index, index, is_special=True))
        elif piece.startswith("<0x") and _BYTE.fullmatch(piece):
            spelt = _byte_run(pieces, index)
            width = len(spelt)
            units += _decode_bytes(spelt, index)
        else:
            text = piece.replace(SPACE_MARK, " ")
            units += [Unit(stretch, index, index) for stretch in (text if is_escaped else _stretches(text))]
        index += width
    return _unescape(units) if is_escaped else units


def _stretches(text: str) -> Iterable[str]:
    if not _SIMPLE.fullmatch(text):
        return text
    stretches = _STRETCH.findall(text)
    return text if any(attaches(stretch[0]) for stretch in stretches) else stretches


def _byte_run(pieces: Sequence[str], start: int) -> bytes:
    run = bytearray()
    for piece in islice(pieces, start, None):
        if not (match := _BYTE.fullmatch(piece)):
            break
        run.append(int(match[1], 16))
    return bytes(run)


def _decode_bytes(data: bytes, first: int) -> list[Unit]:
    """Decode UTF-8; a byte that fits nowhere becomes U+FFFD by itself, as in SentencePiece."""
    units: list[Unit] = []
    start = 0
    while start < len(data):
        char, width = "\ufffd", 1
        for length in range(1, 5):
            try:
                char, width = data[start : start + length].decode(), length
                break
            except UnicodeDecodeError:
                continue
        units.append(Unit(char, first + start, first + start + width - 1))
        start += width
    return units


def _unescape(units: list[Unit]) -> list[Unit]:
    plain: list[Unit] = []
    index = 0
    while index < len(units):
        unit = units[index]
        following = units[index + 1] if index + 1 < len(units) else None
        if unit.text == _ESCAPE and following and following.text in _ESCAPED:
            plain.append(Unit(_ESCAPED[following.text], unit.first, following.last))
            index += 2
        else:
            plain.append(unit)
            index += 1
    return plain
