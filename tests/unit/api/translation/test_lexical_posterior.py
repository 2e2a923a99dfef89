"""Attention weights given the target words, by the translation of each source word alone."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.api.translation.attention import lexical_posterior
from dragoman.api.translation.markup import translate_markup
from dragoman.api.translation.translator import Translator
from dragoman.engines.lexical_likelihoods import LexicalLikelihoods
from dragoman.errors import ConfigError
from dragoman.markup.tagged_text import TaggedText, TagSpan
from dragoman.text import Tokenizer, train_words
from tests.unit.api.table_engine import TableEngine, languages

WORDS: dict[str, Tokenizer] = {
    "source": train_words(["the red house 1"], size=None),
    "target": train_words(["la casa roja 1"], size=None),
}
TABLE = {"the red house": "la casa roja", "the": "la", "red": "roja", "house": "casa"}


def opened() -> tuple[Translator, TableEngine]:
    """The attention of a table is the diagonal; its translations of single words are right."""
    engine = TableEngine(WORDS, TABLE)
    return Translator(engine, languages("en", "es"), WORDS), engine


def test_rows_keep_their_sum_and_the_ends_their_weight():
    generator = np.random.default_rng(1)
    weights = generator.dirichlet(np.ones(5), (2, 3, 4)).astype(np.float32)  # [layers, heads, tgt + 1, src + 1]
    likelihoods = generator.normal(size=(3, 4)).astype(np.float32)
    found = lexical_posterior(weights, likelihoods)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-6)
    np.testing.assert_array_equal(found[..., -1], weights[..., -1])
    np.testing.assert_array_equal(found[:, :, -1], weights[:, :, -1])
    np.testing.assert_allclose(found[1, 2], lexical_posterior(weights[1, 2], likelihoods), atol=1e-7)


def test_a_likely_position_gains_and_a_weight_of_zero_stays():
    weights = np.array([[0.5, 0.4, 0.0, 0.1]], np.float32)
    found = lexical_posterior(weights, np.log(np.array([[0.01, 0.5, 0.9]], np.float32)))
    assert found[0, 1] > found[0, 0]
    assert found[0, 2] == 0
    nothing = np.zeros((1, 4), np.float32)
    np.testing.assert_array_equal(lexical_posterior(nothing, np.zeros((1, 3), np.float32)), nothing)
    with pytest.raises(ConfigError, match="the reading lexical needs likelihoods"):
        lexical_posterior(weights, None)


def test_links_follow_the_words_where_attention_is_spread():
    translator, engine = opened()
    engine.flat = True
    texts = ["the red house"], ["la casa roja"]
    assert translator.align(*texts) == [((0, 0), (1, 2), (2, 1))]
    (found,) = translator.translate(texts[0], alignment=True, attention=True, posterior=True)
    assert found.alignment == ((0, 0), (1, 2), (2, 1))
    (plain,) = translator.translate(texts[0], attention=True)
    assert plain.weights is not None
    assert len(set(plain.weights[1])) == 1, "attention itself is unchanged"


def test_a_tag_follows_its_word_where_attention_is_spread():
    translator, engine = opened()
    engine.flat = True
    (found,) = translate_markup(translator, [TaggedText("the red house", (TagSpan(4, 7, 0),))]).texts
    assert found == TaggedText("la casa roja", (TagSpan(8, 12, 0),))


def test_a_word_is_translated_once_and_only_where_it_is_asked_for():
    translator, engine = opened()
    translator.translate("the red house", alignment=True)
    assert engine.first_tokens == []
    for _ in range(2):
        translator.translate(["the red house", "red"], alignment=True, posterior=True)
    assert sorted(word for call in engine.first_tokens for word in call) == ["house", "red", "the"]


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.engines.lexical_likelihoods._CACHED_WORDS", 2)
    _, engine = opened()
    lexical = LexicalLikelihoods(engine, WORDS["source"], WORDS["target"])
    ids = WORDS["source"].encode("the red house")
    pair = ("the red house", ids, WORDS["target"].encode("la casa roja"))
    (first,), (again,) = lexical.between_tokens([pair]), lexical.between_tokens([pair])
    np.testing.assert_array_equal(first, again)
    assert first.shape == (3, 3)
    assert len(lexical._cache) == 2


def test_a_model_without_attention_has_no_weights():
    engine = TableEngine(WORDS, TABLE, attends=False)
    translator = Translator(engine, languages("en", "es"), WORDS)
    found = translator.translate("the red house", alignment=True, attention=True, posterior=True)
    assert (found.alignment, found.weights) == (None, None)
