"""Notation of spaces and bytes inside tokens (``▁``, ``<0xE4>``), common to all tokenizers.

- ``▁`` (U+2581) is a space.
- ``<0xE4>`` is one byte of a character that is not in the vocabulary.
- A text that contains ``▁`` is escaped with U+001B, so that nothing is lost: ``▁`` becomes U+001B ``_`` and U+001B
  becomes U+001B U+001B.
- Special tokens have no text; ``<unk>`` is text that was lost.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from dragoman.text.characters import attaches
from dragoman.text.tokenizers.vocabulary import SPECIALS, UNKNOWN

SPACE_MARK = "▁"

PREFIX_MARK = "\x1b>"
"""Surface form of a token that a tokenizer adds before a text, such as that of the target language: it has no text."""

_ESCAPE = "\x1b"
_ESCAPED = {"_": SPACE_MARK, _ESCAPE: _ESCAPE}
_BYTE = re.compile("<0x([0-9A-F]{2})>")

# Scripts with spaces only: such a token is split at white space, any other at every character.
_SIMPLE = re.compile("[\0-\u0dff]*")
_STRETCH = re.compile(r"\s+|\S+")


class TextUnit(NamedTuple):
    """A run of simple letters, a character, white space or a special token, and the tokens that spell it."""

    text: str
    first: int
    last: int
    is_special: bool = False


def escape(text: str) -> str:
    """Escape ``▁`` in a text, so that the mark can denote a space."""
    if SPACE_MARK in text or _ESCAPE in text:
        return text.replace(_ESCAPE, _ESCAPE * 2).replace(SPACE_MARK, f"{_ESCAPE}_")
    return text


def mark_spaces(text: str) -> str:
    """Escape the text and write its spaces as ``▁``."""
    return escape(text).replace(" ", SPACE_MARK)


def join_tokens(tokens: Iterable[str], *, unknown: str = UNKNOWN) -> str:
    """Return the text of the tokens, with spaces for their marks and ``unknown`` for ``<unk>``."""
    if not isinstance(tokens, list):
        tokens = list(tokens)
    joined = "".join(tokens)
    if "<" not in joined and _ESCAPE not in joined:  # plain tokens only: the fast path
        return joined.replace(SPACE_MARK, " ")
    shown = dict.fromkeys(SPECIALS, "") | {UNKNOWN: unknown}
    return "".join(shown[unit.text] if unit.is_special else unit.text for unit in trace_tokens(tokens))


def trace_tokens(tokens: Sequence[str]) -> list[TextUnit]:
    """Return the text of the tokens as units, each with the tokens that spell it."""
    joined = "".join(tokens)
    is_escaped = _ESCAPE in joined or f"<0x{ord(_ESCAPE):02X}>" in joined
    units: list[TextUnit] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        width = 1
        if token in SPECIALS:
            units.append(TextUnit(token, index, index, is_special=True))
        elif token.startswith("<0x") and _BYTE.fullmatch(token):
            spelt = _byte_run(tokens, index)
            width = len(spelt)
            units += _decode_bytes(spelt, index)
        else:
            text = token.replace(SPACE_MARK, " ")
            units += [TextUnit(stretch, index, index) for stretch in (text if is_escaped else _stretches(text))]
        index += width
    return _unescape(units) if is_escaped else units


def readable_token(token: str) -> str:
    """Return a token for display; a byte token becomes ``! (byte)``, or ``byte C3`` if it is not printable ASCII."""
    found = _BYTE.fullmatch(token)
    if found is None:
        return token
    character = chr(int(found[1], 16))
    return f"{character} (byte)" if "!" <= character <= "~" else f"byte {found[1]}"


def _stretches(text: str) -> Iterable[str]:
    if not _SIMPLE.fullmatch(text):
        return text
    stretches = _STRETCH.findall(text)
    return text if any(attaches(stretch[0]) for stretch in stretches) else stretches


def _byte_run(tokens: Sequence[str], start: int) -> bytes:
    run = bytearray()
    for token in islice(tokens, start, None):
        if not (match := _BYTE.fullmatch(token)):
            break
        run.append(int(match[1], 16))
    return bytes(run)


def _decode_bytes(data: bytes, first: int) -> list[TextUnit]:
    """Decode UTF-8; each invalid byte becomes U+FFFD, as in SentencePiece."""
    units: list[TextUnit] = []
    start = 0
    while start < len(data):
        char, width = "\ufffd", 1
        for length in range(1, 5):
            try:
                char, width = data[start : start + length].decode(), length
                break
            except UnicodeDecodeError:
                continue
        units.append(TextUnit(char, first + start, first + start + width - 1))
        start += width
    return units


def _unescape(units: list[TextUnit]) -> list[TextUnit]:
    plain: list[TextUnit] = []
    index = 0
    while index < len(units):
        unit = units[index]
        following = units[index + 1] if index + 1 < len(units) else None
        if unit.text == _ESCAPE and following and following.text in _ESCAPED:
            plain.append(TextUnit(_ESCAPED[following.text], unit.first, following.last))
            index += 2
        else:
            plain.append(unit)
            index += 1
    return plain
