"""Repeated and dropped words."""

from __future__ import annotations

import pytest

from claims.measurement.word_counts import Lexicon, count_words, learn_lexicon, words

PAIRS = [("the dog", "der hund"), ("the cat", "die katze"), ("a dog", "ein hund"), ("a cat", "eine katze")]


def test_words_have_lower_case_and_no_punctuation():
    assert words("Ein Hund, und ein Über-Hund.") == ["ein", "hund", "und", "ein", "über", "hund"]


def test_a_lexicon_has_the_translations_that_explain_the_corpus():
    lexicon = learn_lexicon(*zip(*PAIRS, strict=True))
    assert "hund" in lexicon.translations["dog"]
    assert "katze" not in lexicon.translations["dog"]


def test_a_lexicon_accepts_empty_sentences():
    assert "hund" in learn_lexicon(["dog", "", "cat"], ["hund", "x", ""]).translations["dog"]


LEXICON = Lexicon({"dog": frozenset({"hund", "köter"}), "cat": frozenset({"katze"})})


@pytest.mark.parametrize(
    ("hypothesis", "counts"),
    [
        ("Hund und Katze", [3, 0, 2, 0]),
        ("Köter und Katze", [3, 0, 2, 0]),  # another translation of the same word
        ("Hund und Hund", [3, 1, 2, 1]),
        ("und und und", [3, 2, 2, 2]),
        ("", [0, 0, 2, 2]),
    ],
)
def test_words_that_are_repeated_and_dropped(hypothesis: str, counts: list[int]):
    assert count_words(LEXICON, ["the dog and cat"], ["Hund und Katze"], [hypothesis]) == [[each] for each in counts]


def test_a_word_that_the_reference_repeats_may_be_repeated():
    assert count_words(LEXICON, ["dog dog"], ["Hund Hund"], ["Hund Hund Hund"])[1] == [1]


def test_a_source_word_that_the_reference_leaves_out_is_not_dropped():
    assert count_words(LEXICON, ["dog cat"], ["Hund"], ["Hund"])[2:] == [[1], [0]]
