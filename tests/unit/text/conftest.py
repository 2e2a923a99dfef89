"""One tokenizer of each kind, learnt once."""

import pytest

from dragoman.text import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WordTokenizer,
    train_characters,
    train_sentencepiece,
    train_words,
)
from tests.unit.text.samples import corpus


@pytest.fixture(scope="session")
def unigram() -> SentencePieceTokenizer:
    return train_sentencepiece(corpus(), size=600)


@pytest.fixture(scope="session")
def bpe() -> SentencePieceTokenizer:
    return train_sentencepiece(corpus(), size=600, model="bpe")


@pytest.fixture(scope="session")
def words() -> WordTokenizer:
    return train_words(corpus(), size=None)


@pytest.fixture(scope="session")
def characters() -> CharacterTokenizer:
    return train_characters(corpus())


@pytest.fixture(scope="session")
def tokenizers(
    unigram: SentencePieceTokenizer, bpe: SentencePieceTokenizer, words: WordTokenizer, characters: CharacterTokenizer
) -> dict[str, Tokenizer]:
    return {"unigram": unigram, "bpe": bpe, "word": words, "character": characters}


@pytest.fixture(params=["unigram", "bpe", "word", "character"])
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]
