"""A small bundle to open, change and break."""

from pathlib import Path

import pytest

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, load_config
from dragoman.text import SentencePieceTokenizer, train_sentencepiece
from testkit.random_bundle import RNN, constant_weights

TEXT = ["the house is small", "das Haus ist klein", "a small house"] * 20


@pytest.fixture(scope="session")
def subwords() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXT, size=300)


@pytest.fixture(scope="session")
def config() -> Config:
    return load_config("luong2015-desk", RNN)


@pytest.fixture
def bundle(tmp_path: Path, config: Config, subwords: SentencePieceTokenizer) -> Bundle:
    tokenizers = {"source": subwords, "target": subwords}
    return write_bundle(tmp_path / "bundle", config, constant_weights(config, tokenizers), tokenizers, "# A card ü\n")
