"""Pieces and words: which pieces make which word, and how weights between pieces become weights between words.

A word is what stands between white space. Scripts without spaces (Chinese, Japanese, Thai, Khmer, …) would make one
word of a whole sentence, so there every character, with the marks on it, is a word, and so is each run of other text
between them: ``我用Python写`` has the words ``我 用 Python 写``. Words depend on the text only, not on the tokenizer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import DataError
from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.notation import Unit, trace_pieces

__all__ = ["WordMap", "merge_alignment", "piece_words"]


@dataclass(frozen=True, slots=True)
class WordMap:
    """The words that a list of pieces spells. Spans are half-open, ``(first, last + 1)``.

    ``word_of[piece]`` is the word of a piece, the first if it touches several, and ``word_spans[piece]`` all of them:
    a piece may hold several characters of a script without spaces. ``piece_spans[word]`` are the pieces of a word.
    ``is_spaced[word]`` tells whether a space stands between it and the word before it.
    """

    words: tuple[str, ...]
    word_of: tuple[int, ...]
    word_spans: tuple[tuple[int, int], ...]
    piece_spans: tuple[tuple[int, int], ...]
    is_spaced: tuple[bool, ...]


@dataclass(slots=True)
class _Draft:
    """A word map in the making."""

    words: list[str] = field(default_factory=list)
    is_spaced: list[bool] = field(default_factory=list)
    touched: list[list[int]] = field(default_factory=list)  # the words of each piece

    def add(self, unit: Unit, *, starts_word: bool, is_spaced: bool) -> None:
        if starts_word:
            self.words.append("")
            self.is_spaced.append(is_spaced)
        self.words[-1] += unit.text
        for piece in range(unit.first, unit.last + 1):
            self.touched[piece].append(len(self.words) - 1)


def piece_words(pieces: Sequence[str], *, by_spaces: bool = False) -> WordMap:
    """Find the words in a list of pieces of any tokenizer.

    With `by_spaces` only white space divides words, in every script: for texts that somebody has cut into words.

    Pieces of bytes are joined into the characters they spell. A piece that is only a space belongs to the word after
    it, or at the end to the last. A special piece (``</s>``, ``<unk>``, …) is a word of its own. Pieces that are
    nothing but spaces make one empty word, so every piece has a word.
    """
    draft = _Draft(touched=[[] for _ in pieces])
    before: Unit | None = None  # the last character that is no mark, of the word that is being built
    is_spaced = False
    for unit in trace_pieces(pieces):
        if not unit.is_special and unit.text.isspace():
            before, is_spaced = None, True
        elif before is not None and not unit.is_special and attaches(unit.text[0]):
            draft.add(unit, starts_word=False, is_spaced=False)
        else:
            starts = _starts_word(before, unit, by_spaces=by_spaces)
            draft.add(unit, starts_word=starts, is_spaced=is_spaced and bool(draft.words))
            before, is_spaced = unit, False
    return _finish(draft)


def _starts_word(before: Unit | None, unit: Unit, *, by_spaces: bool) -> bool:
    if before is None or before.is_special or unit.is_special:
        return True
    return not by_spaces and (is_spaceless(before.text[0]) or is_spaceless(unit.text[0]))


def _finish(draft: _Draft) -> WordMap:
    if not draft.words and draft.touched:
        draft.words.append("")
        draft.is_spaced.append(False)
    word_spans: list[tuple[int, int]] = []
    following = len(draft.words) - 1  # what a piece of spaces belongs to, walking from the end
    for touched in reversed(draft.touched):
        span = (touched[0], touched[-1] + 1) if touched else (following, following + 1)
        following = span[0]
        word_spans.append(span)
    word_spans.reverse()
    pieces_of: list[list[int]] = [[] for _ in draft.words]
    for piece, (first, end) in enumerate(word_spans):
        for word in range(first, end):
            pieces_of[word].append(piece)
    return WordMap(
        words=tuple(draft.words),
        word_of=tuple(first for first, _ in word_spans),
        word_spans=tuple(word_spans),
        piece_spans=tuple((pieces[0], pieces[-1] + 1) for pieces in pieces_of),
        is_spaced=tuple(draft.is_spaced),
    )


def merge_alignment(weights: ArrayLike, source: WordMap, target: WordMap) -> NDArray[np.float64]:
    """Turn weights between pieces into weights between words. Shapes: [*, tgt pieces, src pieces] -> [*, tgt, src].

    A row says where one target piece looks. Over the source pieces of a word the weights are *summed*, because the
    word gets all that its pieces get; over the target pieces of a word they are *averaged*, because each of them
    spends the same attention. So a row that sums to one still does, and every other sum is a mean of the old ones.
    A source piece that touches several words gives each an equal share; a target piece counts in each of its words.
    """
    values = np.asarray(weights, dtype=np.float64)
    expected = (len(target.word_of), len(source.word_of))
    if values.shape[-2:] != expected:
        raise DataError(
            f"weights must be [..., {expected[0]} target pieces, {expected[1]} source pieces], got the shape "
            f"{values.shape}; drop the rows and columns of special pieces, or put those into the maps"
        )
    shares = _membership(source)  # [src pieces, src words]
    shares /= shares.sum(axis=1, keepdims=True)
    means = _membership(target).T  # [tgt words, tgt pieces]
    means /= means.sum(axis=1, keepdims=True)
    merged: NDArray[np.float64] = means @ values @ shares
    return merged


def _membership(words: WordMap) -> NDArray[np.float64]:
    belongs = np.zeros((len(words.word_of), len(words.words)))
    for piece, (first, end) in enumerate(words.word_spans):
        belongs[piece, first:end] = 1
    return belongs
