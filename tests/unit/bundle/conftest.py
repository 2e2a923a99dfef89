"""A small bundle to open, change and break."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, load_config
from dragoman.text import SentencePieceTokenizer, train_sentencepiece

TEXT = ["the house is small", "das Haus ist klein", "a small house"] * 20


@pytest.fixture(scope="session")
def subwords() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXT, size=300)


@pytest.fixture(scope="session")
def config() -> Config:
    return load_config("luong2015-desk")


@pytest.fixture
def bundle(tmp_path: Path, config: Config, subwords: SentencePieceTokenizer) -> Bundle:
    weights = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones((), dtype=np.float32)}
    return write_bundle(tmp_path / "bundle", config, weights, {"source": subwords, "target": subwords}, "# A card ü\n")
