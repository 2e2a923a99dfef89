from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dragoman.errors import DataError
from dragoman.text import Tokenizer, map_words, merge_token_weights
from dragoman.text.words import split_words
from testkit.growth import growth
from tests.unit.text.samples import AWKWARD, texts

PIECES = [
    "▁the",
    "▁",
    "house",
    "▁▁",
    "我用",
    "<0xE4>",
    "<0xB8>",
    "<0xAD>",
    "</s>",
    "<unk>",
    "!",
    "é",
    "\u0301",
    "\x1b",
    "_",
]
token_lists = st.lists(st.sampled_from(PIECES), min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("tokens", "words", "word_of"),
    [
        (["▁the", "▁hou", "se", "."], ["the", "house."], [0, 1, 1, 1]),
        (["t", "h", "e", "▁", "a"], ["the", "a"], [0, 0, 0, 1, 1]),
        (["▁", "▁", "a", "▁", "▁"], ["a"], [0, 0, 0, 0, 0]),
        (["▁", "<0xE4>", "<0xB8>", "<0xAD>", "x"], ["中", "x"], [0, 0, 0, 0, 1]),
        (["▁na", "<0xC3>", "<0xAF>", "ve", "▁ok"], ["naïve", "ok"], [0, 0, 0, 0, 1]),
        (["▁我", "用", "Py", "thon", "写", "。"], ["我", "用", "Python", "写", "。"], [0, 1, 2, 2, 3, 4]),
        (["▁ก", "ิ", "น"], ["กิ", "น"], [0, 0, 1]),
        (["▁안녕", "▁세", "상"], ["안녕", "세상"], [0, 1, 1]),
        (["▁a", "</s>"], ["a", "</s>"], [0, 1]),
        (["<s>", "▁a", "<unk>", "!", "</s>"], ["<s>", "a", "<unk>", "!", "</s>"], [0, 1, 2, 3, 4]),
        (["▁a", "\x1b", "_b"], ["a▁b"], [0, 0, 0]),
        (["▁a", "<0x09>", "b"], ["a", "b"], [0, 1, 1]),
        (["▁", "▁"], [""], [0, 0]),
        ([], [], []),
    ],
)
def test_words_of_tokens(tokens: list[str], words: list[str], word_of: list[int]):
    found = map_words(tokens)
    assert list(found.words) == words
    assert list(found.word_of) == word_of


def test_a_token_may_touch_several_words():
    found = map_words(["▁我用", "Python写", "。"])
    assert found.words == ("我", "用", "Python", "写", "。")
    assert found.word_spans == ((0, 2), (2, 4), (4, 5))
    assert found.word_of == (0, 2, 4)
    assert found.token_spans == ((0, 1), (0, 1), (1, 2), (1, 2), (2, 3))


def test_spaces_between_words_are_known():
    assert map_words(["▁the", "▁house", "我", "用", "▁a"]).is_spaced == (False, True, False, False, True)


def test_marks_attach_to_what_they_stand_on():
    assert map_words(["▁写", "\u0301", "a\u0301b"]).words == ("写\u0301", "a\u0301b")
    assert map_words(["▁写", "\u093eक"]).words == ("写\u093e", "क")
    assert map_words(["▁", "\u0301", "写"]).words == ("\u0301", "写")


@given(token_lists)
def test_every_token_has_a_word_and_every_word_a_token(tokens: list[str]):
    found = map_words(tokens)
    assert len(found.word_of) == len(found.word_spans) == len(tokens)
    assert len(found.words) == len(found.token_spans) == len(found.is_spaced)
    assert list(found.word_of) == [first for first, _ in found.word_spans]
    assert list(found.word_spans) == sorted(found.word_spans)
    links = {(token, word) for token, span in enumerate(found.word_spans) for word in range(*span)}
    assert links == {(token, word) for word, span in enumerate(found.token_spans) for token in range(*span)}
    assert {word for _, word in links} == set(range(len(found.words)))


@given(data=st.data())
def test_words_do_not_depend_on_the_tokenizer(data: st.DataObject, tokenizers: dict[str, Tokenizer]):
    text = data.draw(texts)
    found = [map_words(tokenizer.tokens(text)) for tokenizer in tokenizers.values()]
    assert len({words.words for words in found}) == 1
    assert len({words.is_spaced for words in found}) == 1
    assert "".join(found[0].words) == "".join(text.split())


@pytest.mark.parametrize("text", AWKWARD)
def test_words_and_their_spaces_spell_the_text(tokenizer: Tokenizer, text: str):
    found = map_words(tokenizer.tokens(text))
    spelt = "".join(" " * spaced + word for word, spaced in zip(found.words, found.is_spaced, strict=True))
    assert spelt == " ".join(text.split())


# -------------------------------------------------------------------------------------------------------------- merging


def test_source_tokens_are_summed_and_target_tokens_averaged():
    source = map_words(["▁the", "▁hou", "se"])
    target = map_words(["▁das", "▁Hau", "s"])
    weights = [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]]
    merged = merge_token_weights(weights, source, target)
    np.testing.assert_allclose(merged, [[0.7, 0.3], [0.2, 0.8]])


def test_a_token_of_several_words_is_shared():
    source = map_words(["▁我用", "写"])
    target = map_words(["▁I", "▁write"])
    np.testing.assert_allclose(
        merge_token_weights([[0.8, 0.2], [0.1, 0.9]], source, target), [[0.4, 0.4, 0.2], [0.05, 0.05, 0.9]]
    )
    np.testing.assert_allclose(
        merge_token_weights([[0.8, 0.2], [0.1, 0.9]], target, source), [[0.8, 0.2], [0.8, 0.2], [0.1, 0.9]]
    )


def test_special_tokens_keep_their_row_and_column():
    words = map_words(["▁a", "b", "</s>"])
    merged = merge_token_weights(np.eye(3), words, words)
    np.testing.assert_allclose(merged, [[1, 0], [0, 1]])


def test_heads_and_layers_are_merged_at_once():
    words = map_words(["▁a", "b", "▁c"])
    weights = np.random.default_rng(0).random((2, 4, 3, 3))
    merged = merge_token_weights(weights, words, words)
    assert merged.shape == (2, 4, 2, 2)
    np.testing.assert_allclose(merged[1, 3], merge_token_weights(weights[1, 3], words, words))


@given(st.data(), token_lists, token_lists)
def test_rows_that_sum_to_one_still_do(data: st.DataObject, source_tokens: list[str], target_tokens: list[str]):
    source, target = map_words(source_tokens), map_words(target_tokens)
    shape = (len(target_tokens), len(source_tokens))
    raw = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0.01, 1)))
    merged = merge_token_weights(raw / raw.sum(axis=1, keepdims=True), source, target)
    assert merged.shape == (len(target.words), len(source.words))
    np.testing.assert_allclose(merged.sum(axis=1), 1)
    assert merged.min() >= 0


@given(st.data(), token_lists, token_lists)
def test_every_row_sum_is_the_mean_of_the_old_ones(
    data: st.DataObject, source_tokens: list[str], target_tokens: list[str]
):
    """Local attention need not sum to one; then the sums of a word's tokens are averaged."""
    source, target = map_words(source_tokens), map_words(target_tokens)
    raw = data.draw(hnp.arrays(np.float64, (len(target_tokens), len(source_tokens)), elements=st.floats(0, 1)))
    sums = merge_token_weights(raw, source, target).sum(axis=1)
    old = raw.sum(axis=1)
    np.testing.assert_allclose(sums, [old[slice(*span)].mean() for span in target.token_spans], atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3,), (3, 4, 2)])
def test_weights_of_another_shape_are_refused(shape: tuple[int, ...]):
    words = map_words(["▁a", "b", "▁c"])
    with pytest.raises(DataError, match=r"weights must be \[\.\.\., 3 target tokens, 3 source tokens\], got the shape"):
        merge_token_weights(np.zeros(shape), words, words)


def test_nothing_can_be_merged_too():
    empty = map_words([])
    assert merge_token_weights(np.zeros((0, 0)), empty, empty).shape == (0, 0)


@pytest.mark.parametrize("function", [split_words, lambda text: map_words(list(text))])
def test_a_word_of_any_length_takes_linear_time(function: Callable[[str], object]):
    assert growth(lambda size: function("a" * size), 20_000, factor=8) < 24, "quadratic: 64"


@given(texts)
def test_split_words_are_the_text(text: str):
    assert "".join(split_words(text)) == text
