"""Which pieces may stand right behind a word without making it another word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.notation import SPACE_MARK
from dragoman.text.tokenizer import Tokenizer

__all__ = ["may_follow_words"]


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
