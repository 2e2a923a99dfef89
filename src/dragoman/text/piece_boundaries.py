"""Pieces and the places in a text: which spell a stretch of it, and which may stand right behind a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.notation import SPACE_MARK, trace_pieces
from dragoman.text.tokenizer import Tokenizer

__all__ = ["may_follow_words", "spelling"]


def spelling(pieces: Sequence[str], start: int, end: int) -> list[int]:
    """Return which pieces of a text spell its characters from `start` to `end`.

    Where pieces are bytes, whole words are given.
    """
    if any(piece.startswith("<0x") or "\x1b" in piece for piece in pieces):
        units = [(unit.text, range(unit.first, unit.last + 1)) for unit in trace_pieces(pieces)]
    else:
        units = [(piece.replace(SPACE_MARK, " "), range(number, number + 1)) for number, piece in enumerate(pieces)]
    found: dict[int, None] = {}
    place = -1 if units and units[0][0].startswith(" ") else 0  # the first word is written with a space before it
    for text, numbers in units:
        first, place = place, place + len(text)
        if text.strip() and max(first + (text[0] == " "), start) < min(place, end):
            found |= dict.fromkeys(numbers)
    return list(found)


def may_follow_words(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Mark the pieces that may follow a word: with a space or punctuation first, or of a script without spaces.

    The end mark is one of them; a byte of a character that the vocabulary lacks is not, as it may be a letter.

    Shapes: -> [vocab].
    """
    pieces = (tokenizer.id_to_piece(number) for number in range(tokenizer.size))
    marks = np.array([_may_follow(piece) for piece in pieces], np.bool_)
    marks[tokenizer.eos_id] = True
    marks[tokenizer.unk_id] = False
    return marks


def _may_follow(piece: str) -> bool:
    if not piece or piece.startswith("<0x"):
        return False
    first = piece[0]
    return first == SPACE_MARK or is_spaceless(first) or not (first.isalnum() or attaches(first) or first == "_")
