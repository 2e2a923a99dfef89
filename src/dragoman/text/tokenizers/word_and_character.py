"""Word tokenizer and character tokenizer, each defined by its vocabulary alone."""

import functools
import re
from collections.abc import Iterable
from typing import Self

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.characters import SPACELESS, attaching_class, check_unicode
from dragoman.text.tokenizers.base import VocabularyTokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK, mark_spaces
from dragoman.text.tokenizers.vocabulary import SPECIALS, UNKNOWN, Vocabulary, check_limits, count_tokens

_MAX_DISTINCT_TOKENS = 5_000_000
"""Maximum number of distinct tokens counted at once: about 500 MB."""


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of one token; the matches cover a text with marked spaces completely."""
    marks = attaching_class()
    letter = rf"[^\W{SPACELESS}]"
    word = f"{letter}(?:{letter}|[{marks}])*+"
    return re.compile(f"{SPACE_MARK}?(?:{word}|[^{SPACE_MARK}][{marks}]*)|{SPACE_MARK}")


class _JsonTokenizer(VocabularyTokenizer):
    """A tokenizer whose file is its vocabulary."""

    file_name = "tokenizer.json"

    def to_bytes(self) -> bytes:
        """Return the content of ``tokenizer.json``."""
        return self.vocabulary.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(Vocabulary.from_bytes(data))


class WordTokenizer(_JsonTokenizer):
    """Words and punctuation marks, with the spaces between them kept: ``"Hello, you!"`` is ``▁Hello , ▁you !``.

    A token is a run of letters, digits and their combining marks, or one other character; a token after a space starts
    with ``▁``. In scripts without spaces every character is a token. Only unknown tokens are lost: they become
    ``<unk>``, which is decoded with a space before it.
    """

    kind = "word"
    _unknown = f" {UNKNOWN}"

    def tokens(self, text: str) -> list[str]:
        check_unicode(text)
        return _word_pattern().findall(SPACE_MARK + mark_spaces(text)) if text else []


class CharacterTokenizer(_JsonTokenizer):
    """Single characters (code points), with ``▁`` for a space. Only characters that were not seen are lost."""

    kind = "character"
    _has_prefix = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        for token in vocabulary.tokens[len(SPECIALS) :]:
            if len(token) != 1:
                raise TokenizerError(
                    f"tokens must be single characters, got {token!r}; load the vocabulary with the tokenizer it is of"
                )

    def tokens(self, text: str) -> list[str]:
        """Split text into characters."""
        return list(mark_spaces(check_unicode(text)))


def train_words(
    sentences: Iterable[str], *, size: int | None, min_frequency: int = 1, max_distinct: int = _MAX_DISTINCT_TOKENS
) -> WordTokenizer:
    """Keep the ``size`` most frequent words seen ``min_frequency`` times; beyond ``max_distinct`` drop rare ones."""
    return WordTokenizer(_learn(WordTokenizer, sentences, size, min_frequency, max_distinct))


def train_characters(
    sentences: Iterable[str], *, size: int | None = None, min_frequency: int = 1
) -> CharacterTokenizer:
    """Keep the ``size`` most frequent characters, special tokens included; all of them if no size is given."""
    return CharacterTokenizer(_learn(CharacterTokenizer, sentences, size, min_frequency, _MAX_DISTINCT_TOKENS))


def _learn(
    tokenizer: type[_JsonTokenizer], sentences: Iterable[str], size: int | None, min_frequency: int, max_distinct: int
) -> Vocabulary:
    check_limits(size, min_frequency)
    if max_distinct < (size or 1):
        raise ConfigError(
            f"max_distinct must be at least the size, {size}, got {max_distinct}; take several times as many"
        )
    splitter = tokenizer(Vocabulary(tokenizer.kind, SPECIALS))
    counts = count_tokens(map(splitter.tokens, sentences), max_distinct=max_distinct)
    if not counts:
        raise TokenizerError("the sentences have no text; check the path of the corpus")
    return Vocabulary.from_counts(counts, kind=tokenizer.kind, size=size, min_frequency=min_frequency)
