"""Find the tokens of a span of text, and the tokens that may follow a complete word."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.tokenizers.base import Tokenizer
from dragoman.text.tokenizers.notation import PREFIX_MARK, SPACE_MARK, trace_tokens

__all__ = ["TokenLocator", "word_boundary_tokens"]


class TokenLocator:
    """Finds the tokens of spans of a text; reading the tokens once makes many spans cheap."""

    def __init__(self, tokens: Sequence[str]) -> None:
        first = int(bool(tokens) and tokens[0] == PREFIX_MARK)
        tokens = tokens[first:]
        if any(token.startswith("<0x") or "\x1b" in token for token in tokens):
            units = [(unit.text, range(first + unit.first, first + unit.last + 1)) for unit in trace_tokens(tokens)]
        else:
            units = [
                (token.replace(SPACE_MARK, " "), range(number, number + 1))
                for number, token in enumerate(tokens, first)
            ]
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._tokens: list[range] = []
        place = -1 if units and units[0][0].startswith(" ") else 0  # the first word has a space before it
        for text, numbers in units:
            begin, place = place, place + len(text)
            if text.strip():
                self._starts.append(begin + (text[0] == " "))
                self._ends.append(place)
                self._tokens.append(numbers)

    def find(self, start: int, end: int) -> list[int]:
        """Return the indices of the tokens that spell the characters from `start` to `end`.

        If tokens are bytes, the tokens of whole words are returned.
        """
        found: dict[int, None] = {}
        for number in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            if max(self._starts[number], start) < min(self._ends[number], end):
                found |= dict.fromkeys(self._tokens[number])
        return list(found)


def word_boundary_tokens(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Mark tokens that may follow a word: they begin with a space, punctuation or a script without spaces.

    The end token is one of them. A byte token is not, because it may be part of a letter.

    Shapes: -> [vocab].
    """
    tokens = (tokenizer.id_to_token(number) for number in range(tokenizer.size))
    marks = np.array([_may_follow(token) for token in tokens], np.bool_)
    marks[tokenizer.eos_id] = True
    marks[tokenizer.unk_id] = False
    return marks


def _may_follow(token: str) -> bool:
    if not token or token.startswith("<0x"):
        return False
    first = token[0]
    return first == SPACE_MARK or is_spaceless(first) or not (first.isalnum() or attaches(first) or first == "_")
