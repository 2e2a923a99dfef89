"""Text in another language than the expected one."""

import gzip
from pathlib import Path

import pytest

from dragoman.text.other_language import is_detectable, language_note, other_language, swapped_note

ENGLISH = "Two young people are walking along the river in the evening."
FRENCH = "Deux jeunes personnes marchent le long de la rivière dans la soirée."
CHINESE = "两个年轻人傍晚沿着河边散步。"


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        (ENGLISH, "en", None),
        (ENGLISH, "en-GB", None),
        (ENGLISH, "de", "en"),
        (FRENCH, "en", "fr"),
        (CHINESE, "en", "zh"),
        (CHINESE, "zh-Hant", None),
        (FRENCH, "", None),
        (FRENCH, "qaa", None),
        ("Bonjour", "en", None),
        ("Société Générale et Crédit Agricole", "en", None),
        ("12345 67890 - 12345 67890", "en", None),
    ],
)
def test_only_certain_answers_count(text: str, expected: str, found: str | None):
    assert other_language(text, expected) == found


@pytest.mark.parametrize(
    ("corpus", "language"),
    [
        ("multi30k/test_2016_flickr.en.gz", "en"),
        ("multi30k/test_2016_flickr.de.gz", "de"),
        ("tatoeba/test.en-fr.fr.gz", "fr"),
        ("3am/test.zh.gz", "zh"),
    ],
)
def test_sentences_of_the_language_are_hardly_ever_taken_for_another(corpora: Path, corpus: str, language: str):
    lines = gzip.decompress((corpora / corpus).read_bytes()).decode().split("\n")[:500]
    assert sum(other_language(line, language) is not None for line in lines) <= 2


def test_texts_in_another_language_get_one_note():
    texts = [ENGLISH] * 6 + ["OK", "1 2 3"]
    assert language_note(texts, "zh") == "6 of the first 8 lines look like en; the model translates from zh"
    assert not language_note(texts, "en")
    assert not language_note([ENGLISH] * 2 + [CHINESE] * 8, "zh"), "some foreign lines are usual"


def test_languages_with_a_probability_of_0_are_detectable_too():
    for language in ("pl", "lt", "eo", "en", "zh-Hant", "szl", "ltg"):
        assert is_detectable(language), language
    assert not is_detectable("enn")


def test_few_texts_get_a_note_only_if_each_is_certain():
    assert language_note([FRENCH], "en") == "the lines look like fr; the model translates from en"
    assert language_note([FRENCH, "", FRENCH, " "], "en") == "all 2 lines look like fr; the model translates from en"
    assert not language_note([FRENCH], "fr")
    for texts in ([], [""], ["Bonjour"], [FRENCH, "Bonjour"], [FRENCH, ENGLISH], [FRENCH, CHINESE]):
        assert not language_note(texts, "en"), texts
    assert not language_note([FRENCH, ENGLISH], "de"), "two other languages"


def test_swapped_sides_get_one_note():
    english, chinese = [ENGLISH] * 6 + ["OK"], [CHINESE] * 7
    note = swapped_note(english, chinese, "zh", "en")
    assert note == (
        "sources and references seem swapped: 6 of the first 7 sources look like en, 7 references like zh; exchange "
        "the two files"
    )
    assert not swapped_note(chinese, english, "zh", "en")
    assert not swapped_note(english, english, "zh", "en"), "the references are right"
    assert not swapped_note(english, chinese, "zh", "de"), "not the language of the other side"
    assert not swapped_note(english, chinese, "", "")


def test_short_sentences_are_certain_together():
    """Sentences of Tatoeba are too short to be certain of each."""
    english = ["He went home.", "I like tea.", "Where is she?", "They left early.", "It is cold."] * 8
    chinese = ["他回家了。", "我喜欢茶。", "她在哪里？", "他们走了。", "很冷。"] * 8
    assert all(other_language(text, "zh") is None for text in english)
    assert "seem swapped" in swapped_note(english, chinese, "zh", "en")
    assert not swapped_note(chinese, english, "zh", "en")
    assert not language_note(chinese, "zh")
    note = language_note(english, "zh")
    assert note == "40 of the first 40 lines, read 10 at a time, look like en; the model translates from zh", (
        "flags, which are of single lines, mark none of them"
    )
