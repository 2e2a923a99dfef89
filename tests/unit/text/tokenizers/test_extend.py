"""Old tokens stay where they are, new ones are reached, and no text is lost."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text import (
    SentencePieceTokenizer,
    Tokenizer,
    WordTokenizer,
    extend_tokenizer,
    token_segmenter,
    tokenizer_from_bytes,
    train_characters,
    train_sentencepiece,
    train_words,
)
from tests.unit.text.samples import AWKWARD, corpus, texts

OLD = [*corpus(), *AWKWARD]
NEW = [
    "Acute myocardial infarction after myocarditis.",
    "The myocardium shows no infarction.",
    "Острый инфаркт миокарда, инфаркт лёгкого.",
    "Myocarditis: инфаркт?",
    "心肌梗死，心肌炎。心肌。",
    "my house, my dog, 42 people",
] * 12
MOST = 60


@pytest.fixture(scope="module")
def extended(tokenizers: dict[str, Tokenizer]) -> dict[str, Tokenizer]:
    return {name: extend_tokenizer(tokenizer, NEW, max_new_tokens=MOST) for name, tokenizer in tokenizers.items()}


@pytest.fixture(params=["unigram", "bpe", "word", "character"])
def both(
    request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer], extended: dict[str, Tokenizer]
) -> tuple[Tokenizer, Tokenizer]:
    return tokenizers[request.param], extended[request.param]


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.id_to_token(number) for number in range(tokenizer.size)]


def length(tokenizer: Tokenizer, sentences: list[str]) -> int:
    return sum(len(tokenizer.encode(text)) for text in sentences)


def test_old_tokens_keep_their_numbers(both: tuple[Tokenizer, Tokenizer]):
    old, new = both
    assert tokens_of(new)[: old.size] == tokens_of(old)
    assert old.size < new.size <= old.size + MOST
    assert type(new) is type(old)
    assert new.can_sample == old.can_sample


def test_new_text_is_written_with_new_tokens(both: tuple[Tokenizer, Tokenizer]):
    old, new = both
    known = [text for text in NEW if new.unk_id not in new.encode(text)]
    assert known
    assert all(new.decode(new.encode(text)) == text for text in known)
    used = {number for text in NEW for number in new.encode(text)}
    assert any(number >= old.size for number in used)
    if isinstance(old, SentencePieceTokenizer):
        assert known == NEW
        assert length(new, NEW) < (0.6 if old.can_sample else 1.0) * length(old, NEW), "BPE learns characters only"
    else:
        unknown = [sum(each.encode(text).count(each.unk_id) for text in NEW) for each in (old, new)]
        assert unknown[1] < unknown[0]


def test_the_file_is_read_as_it_was_written(both: tuple[Tokenizer, Tokenizer]):
    old, new = both
    name = "tokenizer.model" if isinstance(old, SentencePieceTokenizer) else "tokenizer.json"
    assert tokenizer_from_bytes(name, new.to_bytes()) == new
    assert new.to_bytes() == tokenizer_from_bytes(name, new.to_bytes()).to_bytes()


def test_extending_again_gives_the_same(both: tuple[Tokenizer, Tokenizer]):
    old, new = both
    assert extend_tokenizer(old, NEW, max_new_tokens=MOST) == new


@given(data=st.data())
def test_no_text_is_lost_and_old_text_is_cut_as_before(
    data: st.DataObject, tokenizers: dict[str, Tokenizer], extended: dict[str, Tokenizer]
):
    text = data.draw(st.one_of(texts, st.sampled_from(OLD + NEW)))
    for name in ("unigram", "bpe"):
        old, new = tokenizers[name], extended[name]
        ids = new.encode(text)
        assert new.decode(ids) == text
        if max(ids, default=0) < old.size:
            assert ids == old.encode(text)


def test_text_without_a_new_token_in_it_is_cut_as_before(both: tuple[Tokenizer, Tokenizer]):
    old, new = both
    added = tokens_of(new)[old.size :]
    untouched = [text for text in OLD if not any(token in "▁" + text.replace(" ", "▁") for token in added)]
    assert len(untouched) > 50
    assert [new.encode(text) for text in untouched] == [old.encode(text) for text in untouched]


def test_only_what_is_used_is_added(tokenizers: dict[str, Tokenizer], extended: dict[str, Tokenizer]):
    for name in ("unigram", "word", "character"):
        old, new = tokenizers[name], extended[name]
        used = Counter(number for text in NEW for number in new.encode(text))
        assert all(used[number] >= 2 for number in range(old.size, new.size)), name


def test_a_limit_is_kept_and_the_best_come_first(tokenizers: dict[str, Tokenizer]):
    for name, old in tokenizers.items():
        few = extend_tokenizer(old, NEW, max_new_tokens=3)
        assert few.size == old.size + 3, name
        assert tokens_of(few)[: old.size] == tokens_of(old)
    words = extend_tokenizer(tokenizers["word"], ["zeta alpha zeta", "alpha once zeta"], max_new_tokens=5)
    assert tokens_of(words)[tokenizers["word"].size :] == ["▁zeta", "▁alpha"]


def test_nothing_is_added_where_nothing_is_missing():
    for old in (train_words(NEW, size=None), train_characters(NEW)):
        assert extend_tokenizer(old, NEW, max_new_tokens=9) == old
    merged = train_sentencepiece(["a b c"] * 9, size=300, model="bpe")
    assert extend_tokenizer(merged, ["a b c"] * 9, max_new_tokens=9) == merged


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_scores_keep_the_price_of_a_strange_character(model, tokenizers: dict[str, Tokenizer]):
    """Also without bytes: then what is strange becomes <unk>, and a new character is known."""
    old = train_sentencepiece(corpus(), size=400, model=model, byte_fallback=False)
    new = extend_tokenizer(old, NEW, max_new_tokens=MOST)
    assert old.unk_id in old.encode("инфаркт")
    assert new.unk_id not in new.encode("инфаркт")
    assert new.unk_id in new.encode("ꙮ")


def test_sampling_draws_new_tokens_too(tokenizers: dict[str, Tokenizer], extended: dict[str, Tokenizer]):
    old, new = tokenizers["unigram"], extended["unigram"]
    drawn = [new.sample("my people инфаркт", seed=(number,), temperature=2.0) for number in range(40)]
    assert all(new.decode(ids) == "my people инфаркт" for ids in drawn)
    assert any(number >= old.size for ids in drawn for number in ids)
    assert len(set(map(tuple, drawn))) > 1


def test_a_strangers_token_is_cut_where_it_stands(tokenizers: dict[str, Tokenizer]):
    for name in ("unigram", "bpe"):
        old = tokenizers[name]
        cut = token_segmenter(old)
        for token in ("▁housedog", "housedog", "ж", "▁ж", "▁"):
            assert "".join(old.id_to_token(number) for number in cut(token)).replace("<0xD0><0xB6>", "ж") == token
        assert old.decode(old.encode("housedog")) == "housedog", "the tokenizer itself is as it was"
    assert token_segmenter(tokenizers["word"])("▁unseen") == [WordTokenizer.unk_id]


def test_limits_are_refused(tokenizers: dict[str, Tokenizer]):
    with pytest.raises(ConfigError, match="new_tokens must be at least 1, got 0"):
        extend_tokenizer(tokenizers["word"], NEW, max_new_tokens=0)
    many = ["".join(chr(code) for code in range(0x4E00, 0x4E00 + 3000))] * 3
    with pytest.raises(ConfigError, match="new_tokens must leave room for the characters"):
        extend_tokenizer(tokenizers["unigram"], many, max_new_tokens=5, character_coverage=1.0)


def test_another_tokenizer_is_refused():
    class Foreign:
        pass

    with pytest.raises(TokenizerError, match="one of Dragoman's"):
        extend_tokenizer(Foreign(), NEW, max_new_tokens=5)  # type: ignore[arg-type]
