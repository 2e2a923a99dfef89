"""Corpora of a configuration."""

import pytest

from dragoman.config import DataConfig
from dragoman.data.preparation.corpus_sources import list_corpora
from dragoman.errors import ConfigError


def test_a_preparation_needs_a_training_corpus():
    """The configuration of an imported model names its languages, and no corpus."""
    with pytest.raises(ConfigError, match=r"data\.train must hold at least one corpus, got none"):
        list_corpora(DataConfig(source="en", target="de"))
