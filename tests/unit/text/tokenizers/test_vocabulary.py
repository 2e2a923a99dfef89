import copy
import json
from array import array
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary
from dragoman.text.tokenizers.sentencepiece import train_sentencepiece
from dragoman.text.tokenizers.vocabulary import CompactTokens, count_needed_tokens, count_tokens, fitting_size

COUNTS = {"b": 3, "a": 3, "c": 9, "z": 1}


def small() -> Vocabulary:
    return Vocabulary.from_counts(COUNTS, kind="word")


def test_the_ids_of_special_tokens_are_fixed():
    assert (PAD_ID, UNK_ID, BOS_ID, EOS_ID) == (0, 1, 2, 3)
    assert [small().token_of(token_id) for token_id in range(4)] == list(SPECIALS) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_tokens_are_ordered_by_count_then_by_code_point():
    assert small().tokens[4:] == ("c", "a", "b", "z")
    assert Vocabulary.from_counts(dict(reversed(COUNTS.items())), kind="word") == small()


@pytest.mark.parametrize(
    ("size", "min_frequency", "kept"), [(6, 1, "ca"), (100, 3, "cab"), (None, 4, "c"), (5, 3, "c")]
)
def test_limits(size: int | None, min_frequency: int, kept: str):
    vocabulary = Vocabulary.from_counts(COUNTS, kind="word", size=size, min_frequency=min_frequency)
    assert "".join(vocabulary.tokens[4:]) == kept
    assert len(vocabulary) == 4 + len(kept)


def test_looking_up():
    vocabulary = small()
    assert [vocabulary.id_of(token) for token in ("c", "z", "nothing", "</s>")] == [4, 7, UNK_ID, EOS_ID]
    assert "c" in vocabulary
    assert "nothing" not in vocabulary


@pytest.mark.parametrize("token_id", [-1, 8, 10**30])
def test_an_id_out_of_range_is_refused(token_id: int):
    with pytest.raises(TokenizerError, match=f"id must be from 0 to 7, got {token_id}; it comes from another"):
        small().token_of(token_id)


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        small().tokens = ()  # type: ignore[misc]
    assert len({small(), small()}) == 1


@pytest.mark.parametrize(
    ("error", "match", "settings"),
    [
        (ConfigError, "size must be at least 5, got 4; it counts the 4", {"size": 4}),
        (ConfigError, "min_frequency must be at least 1, got 0", {"min_frequency": 0}),
        (TokenizerError, "none of 4 tokens was seen 10 times; lower", {"min_frequency": 10}),
    ],
)
def test_settings_that_leave_nothing_are_refused(error: type[Exception], match: str, settings: dict):
    with pytest.raises(error, match=match):
        Vocabulary.from_counts(COUNTS, kind="word", **settings)


def test_special_tokens_cannot_be_counted():
    with pytest.raises(TokenizerError, match="must hold no special token, got '<s>'"):
        Vocabulary.from_counts({"<s>": 3, "a": 1}, kind="word")


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=20))
def test_it_survives_its_file(tokens: set[str]):
    vocabulary = Vocabulary("word", SPECIALS + tuple(sorted(tokens - set(SPECIALS))))
    data = vocabulary.to_bytes()
    assert Vocabulary.from_bytes(data) == vocabulary
    assert Vocabulary.from_bytes(data).to_bytes() == data


GOOD = {"format": "dragoman-vocabulary", "version": 2, "kind": "word", "tokens": [*SPECIALS, "a"]}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"extra": 1}, "must hold exactly format, kind, tokens, version, got"),
        ({"format": "other"}, "must be 'dragoman-vocabulary' version 2, got 'other' version 2"),
        ({"version": 3}, "got 'dragoman-vocabulary' version 3"),
        ({"version": True}, "version True"),
        ({"version": 2.0}, "version 2.0"),
        ({"kind": 7}, "a name and a list of tokens, got 7"),
        ({"tokens": "abc"}, "a name and a list of tokens"),
        ({"tokens": [*SPECIALS, 5]}, "tokens must be strings, got 5"),
        ({"tokens": [*SPECIALS, "a", "a"]}, "each token once, got 'a' again"),
        ({"tokens": [*SPECIALS, ""]}, "the token with id 4 of the vocabulary is empty"),
        ({"tokens": [*SPECIALS, "\ud800"]}, "not text: text must be valid Unicode, got the lone surrogate"),
        ({"tokens": ["<unk>", "<pad>", "<s>", "</s>"]}, "must be headed by <pad> <unk> <s> </s>, got"),
        ({"tokens": []}, r"must be headed by <pad> <unk> <s> </s>, got \[\]"),
    ],
)
def test_a_file_with_anything_else_in_it_is_refused(change: dict, match: str):
    assert Vocabulary.from_bytes(json.dumps(GOOD).encode()).tokens[4:] == ("a",)
    with pytest.raises(TokenizerError, match=match):
        Vocabulary.from_bytes(json.dumps(GOOD | change).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        json.dumps(GOOD).encode().replace(b'"kind"', b'"kind": "character", "kind"'),
        b"1" * 5_000,
        b"[]",
        b"null",
        json.dumps(GOOD).encode()[:-1],
        b"\xef\xbb\xbf" + json.dumps(GOOD).encode(),
    ],
    ids=range(10),
)
def test_a_file_that_is_no_vocabulary_is_refused(data: bytes):
    with pytest.raises(TokenizerError, match="restore the file that was saved with the model"):
        Vocabulary.from_bytes(data)


def test_counting_holds_no_more_than_it_may():
    stream = [["the", f"rare{number}", "of"] for number in range(1000)] + [["of"]]
    counts = count_tokens(stream, max_distinct=100)
    assert len(counts) <= 100
    assert counts["of"] == 1001
    assert counts["the"] == 1000


def test_counting_is_exact_while_there_is_room():
    stream = [list("abca"), list("bb"), []]
    assert count_tokens(stream, max_distinct=3) == Counter("abcabb")


MANY = "".join(chr(0x4E00 + number) for number in range(600))
CHINESE = [MANY[start : start + 12] for start in range(0, 600, 3)] * 2


def test_alphabets_leave_the_size_unchanged_and_many_characters_raise_it():
    assert fitting_size(360, 2000) == 2000
    assert fitting_size(1000, 2000) == 2000
    assert fitting_size(2574, 2000) == 3600
    assert fitting_size(1800, 2000) == 2800


def test_needed_tokens_are_those_that_sentencepiece_counts():
    needed = count_needed_tokens(Counter("".join(CHINESE)), 1.0)
    assert needed == 4 + 256 + 600
    with pytest.raises(ConfigError, match=rf"at least {needed + 1} for this text"):  # and the mark of a space
        train_sentencepiece(CHINESE, size=500, character_coverage=1.0)


def test_rare_characters_beyond_the_coverage_are_not_counted():
    assert count_needed_tokens(Counter({"a": 9_999, "b": 1}), 0.999) == 4 + 256 + 1
    assert count_needed_tokens(Counter(), 1.0) == 4 + 256


def test_a_size_that_is_too_small_for_the_characters_grows():
    tokenizer = train_sentencepiece(CHINESE, size=500, character_coverage=1.0, grow=True)
    assert 861 <= tokenizer.size <= fitting_size(861, 500)
    text = MANY[:40]
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.unk_id not in tokenizer.encode(text)


def test_a_size_that_fits_is_not_changed_by_grow():
    plain, growing = (train_sentencepiece(["a b c"] * 9, size=300, grow=grow) for grow in (False, True))
    assert plain.to_bytes() == growing.to_bytes()


@given(st.lists(st.text(min_size=1, max_size=4), unique=True), st.text(max_size=4))
def test_a_compact_vocabulary_has_the_same_ids_as_another(tokens: list[str], other: str) -> None:
    listed = (*SPECIALS, *(token for token in tokens if token not in SPECIALS))
    plain, compact = Vocabulary("imported", listed), Vocabulary("imported", listed, is_compact=True)
    assert isinstance(compact.tokens, CompactTokens)
    copies = compact, copy.deepcopy(compact)
    for each in copies:
        assert (len(each), tuple(each.tokens), each.tokens[2:]) == (len(plain), listed, listed[2:])
        assert [each.id_of(token) for token in (*listed, other)] == [plain.id_of(token) for token in (*listed, other)]
        assert (other in each, each.tokens_of([3, 0])) == (other in plain, plain.tokens_of([3, 0]))
    assert copies[0] == copies[1]
    assert hash(copies[0]) == hash(copies[1])
    assert compact != Vocabulary("imported", (*listed, "a longer token"), is_compact=True)


def test_tokens_with_the_same_hash_are_told_apart() -> None:
    compact = CompactTokens(["a", "b", "c"])
    compact._hashes = array("q", [hash("b")] * 3)
    assert compact.get("b", -1) == 1
    assert "d" not in compact
