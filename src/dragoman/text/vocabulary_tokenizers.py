"""Tokenizers that need a vocabulary and nothing else: words with punctuation, and single characters."""

import functools
import re
from collections.abc import Iterable
from typing import Self

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.characters import SPACELESS, attaching_class, check_unicode
from dragoman.text.notation import SPACE_MARK, mark_spaces
from dragoman.text.tokenizer import PieceTokenizer
from dragoman.text.vocabulary import SPECIALS, UNKNOWN, Vocabulary, check_limits, count_pieces

__all__ = ["CharacterTokenizer", "WordTokenizer", "train_characters", "train_words"]

_MOST_PIECES = 5_000_000
"""How many different pieces are counted at once: some 500 MB."""


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of one piece; every character of a text whose spaces are marked falls into exactly one."""
    marks = attaching_class()
    letter = rf"[^\W{SPACELESS}]"
    word = f"{letter}(?:{letter}|[{marks}])*"
    return re.compile(f"{SPACE_MARK}?(?:{word}|[^{SPACE_MARK}][{marks}]*)|{SPACE_MARK}")


class _JsonTokenizer(PieceTokenizer):
    """A tokenizer whose file is its vocabulary."""

    file_name = "tokenizer.json"

    def to_bytes(self) -> bytes:
        """Return the content of ``tokenizer.json``."""
        return self.vocabulary.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(Vocabulary.from_bytes(data))


class WordTokenizer(_JsonTokenizer):
    """Words and punctuation marks, with the spaces between them kept: ``"Hello, you!"`` is ``▁Hello , ▁you !``.

    A piece is a run of letters, digits and the marks on them, or one other character; a piece that a space stands
    before starts with ``▁``. In scripts without spaces every character is a piece. Only unknown pieces are lost:
    they become ``<unk>``, and are decoded as ``<unk>`` with a space before it.
    """

    kind = "word"
    _unknown = f" {UNKNOWN}"

    def pieces(self, text: str) -> list[str]:
        """Split text into pieces; an unknown piece keeps its surface form."""
        check_unicode(text)
        return _word_pattern().findall(SPACE_MARK + mark_spaces(text)) if text else []


class CharacterTokenizer(_JsonTokenizer):
    """Single characters (code points), with ``▁`` for a space. Only characters that were not seen are lost."""

    kind = "character"
    _has_prefix = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        for piece in vocabulary.pieces[len(SPECIALS) :]:
            if len(piece) != 1:
                raise TokenizerError(
                    f"pieces must be single characters, got {piece!r}; load the vocabulary with the tokenizer it is of"
                )

    def pieces(self, text: str) -> list[str]:
        """Split text into characters."""
        return list(mark_spaces(check_unicode(text)))


def train_words(
    sentences: Iterable[str], *, size: int | None, min_frequency: int = 1, most_pieces: int = _MOST_PIECES
) -> WordTokenizer:
    """Keep the ``size`` most frequent words, special pieces included, that were seen ``min_frequency`` times or more.

    At most ``most_pieces`` different words are held in memory; when a corpus has more, the rarest are forgotten.
    """
    return WordTokenizer(_learn(WordTokenizer, sentences, size, min_frequency, most_pieces))


def train_characters(
    sentences: Iterable[str], *, size: int | None = None, min_frequency: int = 1
) -> CharacterTokenizer:
    """Keep the ``size`` most frequent characters, special pieces included; all of them if no size is given."""
    return CharacterTokenizer(_learn(CharacterTokenizer, sentences, size, min_frequency, _MOST_PIECES))


def _learn(
    tokenizer: type[_JsonTokenizer], sentences: Iterable[str], size: int | None, min_frequency: int, most_pieces: int
) -> Vocabulary:
    check_limits(size, min_frequency)
    if most_pieces < (size or 1):
        raise ConfigError(
            f"most_pieces must be at least the size, {size}, got {most_pieces}; take several times as many"
        )
    splitter = tokenizer(Vocabulary(tokenizer.kind, SPECIALS))
    counts = count_pieces(map(splitter.pieces, sentences), most=most_pieces)
    if not counts:
        raise TokenizerError("sentences must hold some text, got none; check the path of the corpus")
    return Vocabulary.from_counts(counts, kind=tokenizer.kind, size=size, min_frequency=min_frequency)
