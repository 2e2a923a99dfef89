"""Tokenizers that the tests of the translator share."""

import pytest

from dragoman.text import Tokenizer, train_words
from tests.unit.api.table_engine import subwords


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return subwords()


@pytest.fixture(scope="module")
def words() -> dict[str, Tokenizer]:
    return {
        "source": train_words(["in Bonn ( a )"], size=None),
        "target": train_words(["in Bonn ( ein ) ."], size=None),
    }
