"""Merge attention weights between tokens into weights between words; replace unknown tokens by source tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError
from dragoman.evaluation.word_alignment import Links, argmax_links
from dragoman.text import EOS_ID, SPECIALS, map_words, merge_token_weights
from dragoman.text.characters import is_spaceless
from dragoman.text.tokenizers.notation import PREFIX_MARK, SPACE_MARK, join_tokens
from dragoman.text.tokenizers.vocabulary import UNKNOWN

Kept = TypeVar("Kept")

_END = SPECIALS[EOS_ID]


@dataclass(frozen=True)
class WordAlignment:
    """Source and target words, and the attention weights between them; None for a model without attention.

    Shapes: weights [tgt (+ 1), src + 1]: the last column is the end of the source, and a row after those of the words
    is the end of the translation.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: NDArray[np.float64] | None

    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the columns and rows of the weights: the words, ends included."""
        rows, columns = (0, 0) if self.weights is None else self.weights.shape
        sides = ((self.source_words, columns), (self.target_words, rows))
        source, target = ((*words, _END) if size > len(words) else words for words, size in sides)
        return source, target

    def between_words(self) -> NDArray[np.float64] | None:
        """Return the weights between words, without ends. Shapes: [tgt, src]."""
        return None if self.weights is None else self.weights[: len(self.target_words), : len(self.source_words)]

    def links(self) -> Links | None:
        """Link every target word to the source word with the most weight; links are sorted by source word.

        A target word whose largest weight is on the end of the source has no link.
        """
        if self.weights is None:
            return None
        return argmax_links(self.weights[: len(self.target_words)], len(self.source_words))


def word_alignment(
    source: Sequence[str], target: Sequence[str], weights: NDArray[np.floating] | None, *, by_spaces: bool = False
) -> WordAlignment:
    """Merge weights between tokens, given without specials, into weights between words.

    With `by_spaces` words are delimited by white space, in every script.
    Shapes: weights [tgt (+ 1), src + 1], as in a `Hypothesis`.
    """
    if weights is None:
        words = [map_words(tokens, by_spaces=by_spaces).words for tokens in (source, target)]
        return WordAlignment(words[0], words[1], None)
    sides = [
        map_words([*tokens, _END] if size > len(tokens) else tokens, by_spaces=by_spaces)
        for tokens, size in ((target, weights.shape[0]), (source, weights.shape[1]))
    ]
    merged = merge_token_weights(weights, sides[1], sides[0])
    target_words, source_words = (
        side.words[:-1] if size > len(tokens) else side.words
        for side, tokens, size in zip(sides, (target, source), weights.shape, strict=True)
    )
    return WordAlignment(source_words, target_words, merged)


def require_attention(found: Kept | None) -> Kept:
    """Return a result of attention; raise `ConfigError` if it is None, for a model without attention."""
    if found is None:
        raise ConfigError("this model has no attention to align words with; use one that has")
    return found


def replace_unknown(
    target: Sequence[str], source: Sequence[str], weights: NDArray[np.floating], *, marks_words: bool
) -> list[str]:
    """Replace every ``<unk>`` of a translation by the source token with the most weight.

    `source` are the tokens as spelt in the text. With `marks_words` a token is a word with the space before it; a space
    is added unless the word is the first, or follows punctuation without one, such as a bracket.
    Shapes: weights [tgt (+ 1), src + 1].
    """
    tokens: list[str] = []
    first = int(bool(source) and source[0] == PREFIX_MARK)  # it has no text
    for place, token in enumerate(target):
        if token == UNKNOWN and len(source) > first:
            token = source[first + int(weights[place, first : len(source)].argmax())]
            if marks_words and not token.startswith(SPACE_MARK) and _needs_space(join_tokens(tokens)):
                token = SPACE_MARK + token
        tokens.append(token)
    return tokens


def _needs_space(before: str) -> bool:
    return before[-1:].isalnum() and not is_spaceless(before[-1])
