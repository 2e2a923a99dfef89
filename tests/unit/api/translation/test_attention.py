"""One map of many: layers, heads, readings, and words of two kinds."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from dragoman.api.translation.attention import AttentionMaps, posterior
from dragoman.config.alignment import AttentionChoice, AttentionReading
from dragoman.errors import ConfigError

SOURCE, TARGET = ("▁the", "▁hou", "se"), ("▁das", "▁Haus")


def attention(layers: int = 3, heads: int = 2) -> AttentionMaps:
    """Maps of which no two are the same."""
    shape = layers, heads, len(TARGET) + 1, len(SOURCE) + 1
    weights = np.random.default_rng(1).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)
    return AttentionMaps(SOURCE, TARGET, weights)


def test_the_usual_map_is_the_mean_of_the_last_layer_but_one():
    maps = attention()
    assert (maps.layers, maps.heads) == (3, 2)
    np.testing.assert_allclose(maps.tokens(), maps.weights[1].mean(0))
    np.testing.assert_array_equal(maps.tokens(), maps.tokens(AttentionChoice(layer=2)))
    only = attention(layers=1)
    np.testing.assert_allclose(only.tokens(), only.weights[0].mean(0))
    two = attention(layers=2)
    np.testing.assert_allclose(two.tokens(), two.weights[0].mean(0))


def test_the_usual_map_of_guided_alignment_is_the_first_head_of_the_last_layer():
    maps = replace(attention(), is_guided=True)
    np.testing.assert_array_equal(maps.tokens(), maps.weights[2, 0])
    np.testing.assert_array_equal(maps.tokens(AttentionChoice(reading="input")), maps.weights[2, 0, 1:])
    np.testing.assert_allclose(maps.tokens(AttentionChoice(layer=2)), maps.weights[1].mean(0))


def test_a_head_that_aligns_inputs_is_read_one_step_later():
    """Where the word is known to be the input; other maps, and the reading of the predicting step, stay."""
    flat = np.zeros((3, 4), np.float32)
    maps = replace(attention(), is_guided=True, aligns_input=True, lexical=flat[:2, :3], likelihoods=flat)
    plain = replace(maps, aligns_input=False)
    head = maps.weights[2, 0]
    later = replace(plain, weights=np.broadcast_to(head[[1, 2, 2]], (3, 2, 3, 4)))
    for reading in get_args(AttentionReading):
        choice = AttentionChoice(reading=reading)
        wanted = later if reading in ("lexical", "posterior") else plain
        np.testing.assert_array_equal(maps.tokens(choice), wanted.tokens(choice), err_msg=reading)
        named = AttentionChoice(3, 1, reading)
        np.testing.assert_array_equal(maps.tokens(named), plain.tokens(named), err_msg=reading)


def test_layers_and_heads_count_from_one():
    maps = attention()
    np.testing.assert_array_equal(maps.tokens(AttentionChoice(1, 1)), maps.weights[0, 0])
    np.testing.assert_array_equal(maps.tokens(AttentionChoice(3, 2)), maps.weights[2, 1])
    np.testing.assert_allclose(maps.tokens(AttentionChoice(3)), maps.weights[2].mean(0))
    np.testing.assert_array_equal(maps.tokens(AttentionChoice(head=2)), maps.weights[1, 1])


def test_readings():
    """A token is the input of the step after the one that wrote it."""
    maps = attention()
    predicted, read = (maps.tokens(AttentionChoice(1, 1, reading)) for reading in ("predicted", "input"))
    assert (predicted.shape, read.shape) == ((3, 4), (2, 4))
    np.testing.assert_array_equal(read, predicted[1:])
    words = maps.words(AttentionChoice(1, 1, "input"))
    assert words.target_words == ("das", "Haus")
    assert words.labels()[1] == ("das", "Haus"), "the end is no input"
    assert words.weights is not None
    np.testing.assert_allclose(words.weights[:, 1], read[:, 1:3].sum(1), rtol=1e-6)


def test_the_posterior_reading_knows_the_word():
    looks = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]], np.float32)
    likely = np.log(np.array([[0.1, 0.9, 1.0, 0.5], [0.2, 0.2, 0.2, 0.2], [1e-6, 1.0, 1.0, 1.0]], np.float32))
    found = AttentionMaps(SOURCE, TARGET, looks[None, None], likely).tokens(AttentionChoice(reading="posterior"))
    np.testing.assert_allclose(found[0], [0.1, 0.9, 0, 0], atol=1e-6)  # a weight of 0 stays 0
    np.testing.assert_allclose(found[1], 0.25, atol=1e-6)
    np.testing.assert_allclose(found[2], [1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(posterior(looks, likely, 1.0)[0], [0.1, 0.9, 0, 0], atol=1e-6)
    skewed = np.array([[0.8, 0.2]], np.float32)
    np.testing.assert_allclose(posterior(skewed, np.zeros((1, 2), np.float32)), [[2 / 3, 1 / 3]], atol=1e-6)


def test_where_nothing_is_left_the_look_is_what_it_was():
    looks = np.array([[0.0, 0.0]], np.float32)
    np.testing.assert_array_equal(posterior(looks, np.zeros((1, 2), np.float32)), looks)


def test_the_posterior_reading_needs_likelihoods():
    with pytest.raises(ConfigError, match="likelihoods=True"):
        attention().tokens(AttentionChoice(reading="posterior"))


def test_words():
    words = attention().words(AttentionChoice(2, 1))
    assert (words.source_words, words.target_words) == (("the", "house"), ("das", "Haus"))
    assert words.labels() == (("the", "house", "</s>"), ("das", "Haus", "</s>"))


def test_words_by_spaces():
    maps = AttentionMaps(("▁你", "好。", "▁我"), ("▁hi",), np.full((1, 1, 2, 4), 0.25, np.float32))
    assert maps.words().source_words == ("你", "好", "。", "我")
    cut = maps.words(by_spaces=True)
    assert cut.source_words == ("你好。", "我")
    assert cut.weights is not None
    np.testing.assert_allclose(cut.weights, [[0.5, 0.25, 0.25]] * 2)


def test_nothing_was_written():
    maps = AttentionMaps((), (), np.ones((1, 1, 1, 1), np.float32))
    for reading in ("predicted", "input"):
        found = maps.words(AttentionChoice(reading=reading))
        assert (found.source_words, found.target_words, found.links()) == ((), (), ())


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (AttentionChoice(layer=4), "layer must be from 1 to 3 in this model, got 4; choose one that it has"),
        (AttentionChoice(layer=0), "layer must be from 1 to 3 in this model, got 0"),
        (AttentionChoice(1, 3), "head must be from 1 to 2 in this model, got 3"),
        (AttentionChoice(1, -1), "head must be from 1 to 2 in this model, got -1"),
    ],
)
def test_maps_that_are_not_there(choice: AttentionChoice, expected: str):
    maps = attention()
    for ask in (maps.tokens, maps.words, maps.check):
        with pytest.raises(ConfigError, match=f"^{expected}"):
            ask(choice)


def test_one_layer_and_one_head():
    with pytest.raises(ConfigError, match=r"^head must be 1 in this model, got 2"):
        attention(heads=1).check(AttentionChoice(head=2))
