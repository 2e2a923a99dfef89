"""Which source words the words of a translation come from, by where the model looked while it wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError
from dragoman.evaluation.alignment_error import Links
from dragoman.evaluation.symmetrization import argmax_links
from dragoman.text import EOS_ID, SPECIALS, merge_alignment, piece_words
from dragoman.text.characters import is_spaceless
from dragoman.text.notation import SPACE_MARK, join_pieces
from dragoman.text.vocabulary import UNKNOWN

__all__ = ["Links", "WordAlignment", "attended", "replace_unknown", "word_alignment"]

Kept = TypeVar("Kept")

_END = SPECIALS[EOS_ID]


@dataclass(frozen=True)
class WordAlignment:
    """The words of a source and of its translation, and how much each target word looked at each source word.

    Shapes: weights [tgt (+ 1), src + 1]: the last column is the end of the source; if there is a row more than there
    are words, it is that of the end of the translation. None where the model has no attention.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: NDArray[np.float64] | None

    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the columns and of the rows of the weights: the words, and the ends among them."""
        rows, columns = (0, 0) if self.weights is None else self.weights.shape
        sides = ((self.source_words, columns), (self.target_words, rows))
        source, target = ((*words, _END) if size > len(words) else words for words, size in sides)
        return source, target

    def between_words(self) -> NDArray[np.float64] | None:
        """Return the weights without those of the ends. Shapes: [tgt, src]."""
        return None if self.weights is None else self.weights[: len(self.target_words), : len(self.source_words)]

    def links(self) -> Links | None:
        """Return for every target word the source word that it looked at most, in the order of the source.

        A target word that looked at the end of the source more than at any word has no link.
        """
        if self.weights is None:
            return None
        return argmax_links(self.weights[: len(self.target_words)], len(self.source_words))


def word_alignment(
    source: Sequence[str],
    target: Sequence[str],
    weights: NDArray[np.floating] | None,
    *,
    by_spaces: bool = False,
) -> WordAlignment:
    """Merge the weights between pieces, given without specials, into weights between words.

    With `by_spaces` words are what stands between white space, in every script.
    Shapes: weights [tgt (+ 1), src + 1], as those of a `Hypothesis`.
    """
    if weights is None:
        words = [piece_words(pieces, by_spaces=by_spaces).words for pieces in (source, target)]
        return WordAlignment(words[0], words[1], None)
    sides = [
        piece_words([*pieces, _END] if size > len(pieces) else pieces, by_spaces=by_spaces)
        for pieces, size in ((target, weights.shape[0]), (source, weights.shape[1]))
    ]
    merged = merge_alignment(weights, sides[1], sides[0])
    target_words, source_words = (
        side.words[:-1] if size > len(pieces) else side.words
        for side, pieces, size in zip(sides, (target, source), weights.shape, strict=True)
    )
    return WordAlignment(source_words, target_words, merged)


def attended(found: Kept | None) -> Kept:
    """What a model without attention cannot give is a `ConfigError`."""
    if found is None:
        raise ConfigError("a model must have attention to align words, got one without; use one that has")
    return found


def replace_unknown(
    target: Sequence[str], source: Sequence[str], weights: NDArray[np.floating], *, marks_words: bool
) -> list[str]:
    """Put the source piece that it looked at most in the place of every ``<unk>`` of a translation.

    `source` are the pieces as they stand in the text. With `marks_words` a piece is a word, and the space before it a
    part of it; the translation gets one unless the word begins it, or follows a bracket, say, as it does in the source.
    Shapes: weights [tgt (+ 1), src + 1].
    """
    pieces: list[str] = []
    for place, piece in enumerate(target):
        if piece == UNKNOWN and source:
            piece = source[int(weights[place, : len(source)].argmax())]
            if marks_words and not piece.startswith(SPACE_MARK) and _needs_space(join_pieces(pieces)):
                piece = SPACE_MARK + piece
        pieces.append(piece)
    return pieces


def _needs_space(before: str) -> bool:
    return before[-1:].isalnum() and not is_spaceless(before[-1])
