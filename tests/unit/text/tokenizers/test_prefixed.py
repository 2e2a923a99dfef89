"""A tokenizer whose texts begin with a token."""

import pytest

from dragoman.errors import TokenizerError
from dragoman.text import (
    PrefixedTokenizer,
    SentencePieceTokenizer,
    add_control_tokens,
    language_token_id,
    load_tokenizer,
    train_sentencepiece,
    train_words,
)
from dragoman.text.tokenizers.notation import PREFIX_MARK

TEXT = ["the house is small", "das Haus ist klein"] * 20


@pytest.fixture(scope="module")
def plain() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXT, size=320, control_tokens=["<2de>", "<2en>"])


def test_the_token_begins_every_text(plain: SentencePieceTokenizer):
    begun = PrefixedTokenizer(plain, "<2de>")
    assert begun.encode("the house") == [plain.token_to_id("<2de>"), *plain.encode("the house")]
    assert begun.tokens("the house") == [PREFIX_MARK, *plain.tokens("the house")]
    assert begun.sample("the house", seed=(1,), temperature=1.0)[0] == begun.prefix_id
    assert begun.encode("") == []
    assert begun.tokens("") == []


def test_decoding_leaves_it_out(plain: SentencePieceTokenizer):
    begun = PrefixedTokenizer(plain, "<2de>")
    assert begun.decode(begun.encode("das Haus")) == begun.decode(plain.encode("das Haus")) == "das Haus"


def test_the_rest_is_that_of_the_other(plain: SentencePieceTokenizer, tmp_path):
    begun = PrefixedTokenizer(plain, "<2en>")
    names = ("kind", "size", "can_sample", "pad_id", "unk_id", "bos_id", "eos_id")
    assert [getattr(begun, name) for name in names] == [getattr(plain, name) for name in names]
    assert begun.id_to_token(begun.prefix_id) == "<2en>"
    begun.save(tmp_path)
    assert load_tokenizer(tmp_path).encode("the house") == plain.encode("the house")
    assert begun.to_bytes() == plain.to_bytes()


def test_no_text_contains_the_token(plain: SentencePieceTokenizer):
    """A user who types it does not choose another language."""
    assert plain.token_to_id("<2de>") not in plain.encode("<2de> the house <2de>")
    assert plain.decode(plain.encode("<2de> the")) == "<2de> the"


def test_control_tokens_can_be_added(plain: SentencePieceTokenizer):
    more = add_control_tokens(plain, ["<2en>", "<2zh>"])
    assert more.size == plain.size + 1
    assert PrefixedTokenizer(more, "<2zh>").prefix_id == plain.size
    assert more.encode("the house <2zh>") == plain.encode("the house <2zh>")
    assert add_control_tokens(plain, ["<2en>"]) is plain
    with pytest.raises(TokenizerError, match="must be of SentencePiece to get language tokens, got word"):
        add_control_tokens(train_words(TEXT, size=None), ["<2zh>"])


def test_a_missing_token_is_an_error(plain: SentencePieceTokenizer):
    with pytest.raises(TokenizerError, match="has no language token '<2fr>'; train"):
        PrefixedTokenizer(plain, "<2fr>")
    with pytest.raises(TokenizerError, match="has no language token '<2fr>'; train"):
        language_token_id(plain, "<2fr>")


def test_the_id_of_a_language_token(plain: SentencePieceTokenizer):
    assert plain.id_to_token(language_token_id(plain, "<2de>")) == "<2de>"
