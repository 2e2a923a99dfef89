"""The contract of the protocol, kept by every tokenizer."""

import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError, TokenizerError
from dragoman.text import SPECIALS, Normalizer, Tokenizer, Vocabulary, WordTokenizer, load_tokenizer
from dragoman.text.tokenizers.base import TokenLocator, word_boundary_tokens
from testkit.growth import growth
from tests.unit.text.samples import AWKWARD, corpus, texts


@pytest.mark.parametrize("text", AWKWARD)
def test_what_was_learnt_from_is_never_lost(tokenizer: Tokenizer, text: str):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_whole_corpus_comes_back(tokenizer: Tokenizer):
    sentences = corpus()
    assert [tokenizer.decode(tokenizer.encode(sentence)) for sentence in sentences] == sentences


@given(data=st.data())
def test_a_text_is_lost_only_where_it_is_unknown(data: st.DataObject, tokenizers: dict[str, Tokenizer]):
    text = data.draw(texts)
    for tokenizer in tokenizers.values():
        tokens, ids = tokenizer.tokens(text), tokenizer.encode(text)
        assert len(tokens) == len(ids)
        if tokenizer.unk_id not in ids:
            assert tokenizer.decode(ids) == text
            assert [tokenizer.id_to_token(token_id) for token_id in ids] == tokens
        for token, token_id in zip(tokens, ids, strict=True):
            assert tokenizer.token_to_id(token) == token_id


@given(data=st.data())
def test_no_text_encodes_to_a_special_token(data: st.DataObject, tokenizers: dict[str, Tokenizer]):
    text = data.draw(texts)
    for tokenizer in tokenizers.values():
        forbidden = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
        assert not forbidden.intersection(tokenizer.encode(text))
        assert not set(SPECIALS).intersection(tokenizer.tokens(text))


def test_special_ids(tokenizer: Tokenizer):
    ids = [tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id]
    assert ids == [0, 1, 2, 3]
    assert [tokenizer.id_to_token(token_id) for token_id in ids] == list(SPECIALS)
    assert [tokenizer.token_to_id(token) for token in SPECIALS] == ids


def test_decoding_drops_padding_and_sentence_marks(tokenizer: Tokenizer):
    text = "the dog, grün"
    ids = tokenizer.encode(text)
    decorated = [tokenizer.bos_id, *ids, tokenizer.eos_id, tokenizer.pad_id, tokenizer.pad_id]
    assert tokenizer.decode(decorated) == tokenizer.decode(ids)
    assert tokenizer.decode([tokenizer.bos_id, tokenizer.eos_id]) == ""
    assert tokenizer.decode([]) == ""


def test_decoding_takes_any_iterable(tokenizer: Tokenizer):
    assert tokenizer.decode(iter(tokenizer.encode("dog"))) == "dog"


def test_every_id_has_a_token_of_its_own(tokenizer: Tokenizer):
    tokens = [tokenizer.id_to_token(token_id) for token_id in range(tokenizer.size)]
    assert [tokenizer.token_to_id(token) for token in tokens] == list(range(tokenizer.size))
    assert tokenizer.token_to_id("no such token") == tokenizer.unk_id


@pytest.mark.parametrize("wrong", [-1, 1_000_000])
def test_ids_of_another_vocabulary_are_refused(tokenizer: Tokenizer, wrong: int):
    with pytest.raises(TokenizerError, match=f"id must be from 0 to {tokenizer.size - 1}, got {wrong}"):
        tokenizer.id_to_token(wrong)
    with pytest.raises(TokenizerError, match="id must be from 0"):
        tokenizer.decode([wrong])


def test_lone_surrogates_are_refused(tokenizer: Tokenizer):
    with pytest.raises(DataError, match="lone surrogate"):
        tokenizer.encode("a\ud800")
    with pytest.raises(DataError, match="lone surrogate"):
        tokenizer.tokens("a\ud800")


def test_saving_and_loading(tokenizer: Tokenizer, tmp_path: Path):
    folder = tmp_path / "new" / "folder"
    written = tokenizer.save(folder)
    assert written == list(folder.iterdir())
    assert written[0].read_bytes() == tokenizer.to_bytes()
    loaded = load_tokenizer(folder)
    assert loaded == tokenizer
    assert hash(loaded) == hash(tokenizer)
    assert loaded.encode(AWKWARD[7]) == tokenizer.encode(AWKWARD[7])


def test_it_can_be_handed_to_another_process(tokenizer: Tokenizer):
    """Worker processes get a tokenizer by the same protocol that copying uses."""
    twin = copy.deepcopy(tokenizer)
    assert twin is not tokenizer
    assert twin == tokenizer
    assert twin.decode(twin.encode("cat dog")) == "cat dog"


def test_it_says_what_it_is(tokenizer: Tokenizer):
    assert repr(tokenizer) == f"{type(tokenizer).__name__}(size={tokenizer.size})"
    assert tokenizer != object()


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(TokenizerError, match=r"tokenizer\.json must be a readable file, got: No such file"):
        WordTokenizer.load(tmp_path)


def test_loading_by_class(words: WordTokenizer, tmp_path: Path):
    words.save(tmp_path)
    assert WordTokenizer.load(tmp_path) == words


def test_the_vocabulary_must_be_of_the_same_kind():
    with pytest.raises(TokenizerError, match="must be of kind 'word', got 'character'"):
        WordTokenizer(Vocabulary("character", SPECIALS))


def test_normalised_text_is_the_usual_input(tokenizer: Tokenizer):
    text = Normalizer()("  Haus\u00a0grün\r\n")
    assert tokenizer.decode(tokenizer.encode(text)) == "Haus grün"


def test_every_token_by_what_it_begins_with(tokenizer: Tokenizer):
    marks = word_boundary_tokens(tokenizer)
    assert marks.shape == (tokenizer.size,)
    assert marks[tokenizer.eos_id]
    assert not marks[tokenizer.unk_id]
    assert 0 < marks.sum() < tokenizer.size


@pytest.mark.parametrize(("text", "expected"), [("a Haus", True), ("a.", True), ("aß", False), ("北京", True)])
def test_characters(text: str, expected: bool, tokenizers: dict[str, Tokenizer]):
    tokenizer = tokenizers["character"]
    second = tokenizer.encode(text)[1]
    if second != tokenizer.unk_id:
        assert word_boundary_tokens(tokenizer)[second] == expected


@pytest.mark.parametrize(
    ("tokens", "start", "end", "expected"),
    [
        (["▁the", "▁dog", "."], 4, 7, [1]),
        (["▁the", "▁do", "g", "."], 4, 7, [1, 2]),
        (["▁the", "▁dog", "."], 0, 3, [0]),
        (["▁the", "▁dog", "."], 0, 8, [0, 1, 2]),
        (["▁", "狗", "在", "家"], 0, 1, [1]),
        (["t", "h", "e", "▁", "d", "o", "g"], 4, 7, [4, 5, 6]),
        (["▁a", "▁<", "b"], 3, 4, [2]),
        (["▁a", "▁", "<0xC3>", "<0xA4>", "b", "▁c"], 2, 4, [2, 3, 4]),
    ],
)
def test_the_tokens_that_spell_a_stretch(tokens: list[str], start: int, end: int, expected: list[int]):
    assert TokenLocator(tokens).find(start, end) == expected


def test_every_word_of_a_text_is_found(tokenizer: Tokenizer):
    text = "wir haben ein kleines Haus"
    tokens = tokenizer.tokens(text)
    for word in text.split():
        start = text.index(word)
        found = [tokens[number] for number in TokenLocator(tokens).find(start, start + len(word))]
        assert word in "".join(found).replace("▁", " ")


def test_many_spans_take_linear_time():
    def locate_all(size: int) -> None:
        locator = TokenLocator(["▁a"] * size)
        for number in range(size):
            assert locator.find(2 * number, 2 * number + 1) == [number]

    assert growth(locate_all, 1000, factor=8) < 24, "quadratic: 64"
