"""The size of a vocabulary that the characters of a text fit in."""

from collections import Counter

import pytest

from dragoman.errors import ConfigError
from dragoman.text.tokenizers.sentencepiece import train_sentencepiece
from dragoman.text.tokenizers.vocabulary_size import count_needed_tokens, fitting_size

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
