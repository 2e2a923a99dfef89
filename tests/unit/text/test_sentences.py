"""Texts cut into sentences and put together again: nothing is lost, in any language, in time linear in the text."""

import time
from collections.abc import Mapping

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.text import sentences
from dragoman.text.sentences import SentenceJoiner, SentenceSegment, split_sentences

CHARACTERS = "aB .!?\n\r\t\"'()。「」“”؟।\u2028\u2029\u3000\u00a0\x00\x85\x1c😀é\u0301…1"


def joined(segments: list[SentenceSegment]) -> str:
    return "".join(segment.text + segment.after for segment in segments)


def translated(text: str, source: str, target: str, table: Mapping[str, str]) -> str:
    joiner = SentenceJoiner(source, target)
    whole = ""
    for segment in split_sentences(text, source):
        whole += joiner.add(table.get(segment.text, segment.text))
        joiner.end_sentence(segment.after)
    return whole + joiner.end()


@pytest.mark.parametrize(
    ("language", "text", "bodies"),
    [
        ("en", "Mr. Smith came. He left!  Why?", ["Mr. Smith came.", "He left!", "Why?"]),
        ("de", "Am 3. Mai kam z. B. Dr. Meier. Er ging.", ["Am 3. Mai kam z. B. Dr. Meier.", "Er ging."]),
        ("zh", "你好。我很好！是吗？", ["你好。", "我很好！", "是吗？"]),
        ("zh-Hant", "你好。我很好！", ["你好。", "我很好！"]),
        ("ar", "مرحبا. كيف حالك؟ بخير.", ["مرحبا.", "كيف حالك؟", "بخير."]),
        ("hi", "यह है। वह है।", ["यह है।", "वह है।"]),
        ("en", "One line\nand another", ["One line", "and another"]),
        ("en", "One\u2028two\x85three\r\nfour", ["One", "two", "three", "four"]),
        ("en", "Smile 😀. Good 👩‍👩‍👧!", ["Smile 😀.", "Good 👩‍👩‍👧!"]),
    ],
)
def test_sentences_of_many_languages(language: str, text: str, bodies: list[str]):
    segments = split_sentences(text, language)
    assert [segment.text for segment in segments] == bodies
    assert joined(segments) == text


def test_white_space_belongs_to_no_sentence():
    assert split_sentences("  Yes.  Good.\n\n\tSo.\n", "en") == [
        ("", "  "),
        ("Yes.", "  "),
        ("Good.", "\n\n\t"),
        ("So.", "\n"),
    ]
    assert split_sentences("", "en") == []
    assert split_sentences(" \n ", "en") == [("", " \n ")]


@given(st.text(st.sampled_from(CHARACTERS), max_size=80), st.sampled_from(["en", "zh", "ja", "hi", "kk", "xx", ""]))
def test_nothing_is_lost(text: str, language: str):
    segments = split_sentences(text, language)
    assert joined(segments) == text
    assert all(segment.text == segment.text.strip() for segment in segments)
    assert all(not segment.after.strip() for segment in segments)
    assert all(segment.text for segment in segments[1:])


@given(st.text(max_size=60))
def test_nothing_is_lost_of_any_text(text: str):
    assert joined(split_sentences(text, "en")) == text


@given(st.text(st.sampled_from("ab .\n「。"), max_size=200))
def test_windows_lose_nothing(text: str):
    before, sentences._WINDOW = sentences._WINDOW, 16
    try:
        assert joined(split_sentences(text, "ja")) == text
    finally:
        sentences._WINDOW = before


def test_a_long_line_is_cut_at_its_sentences():
    text = "This is one sentence of many. " * 1000
    assert {segment.text for segment in split_sentences(text, "en")} == {"This is one sentence of many."}


def test_a_sentence_without_end_is_cut_at_a_space():
    segments = split_sentences("word " * 20_000, "en")
    assert joined(segments) == "word " * 20_000
    assert all(0 < len(segment.text) <= sentences._WINDOW for segment in segments)
    assert {word for segment in segments for word in segment.text.split(" ")} == {"word"}


@pytest.mark.parametrize(
    "unit",
    ["a", "\n", " ", "\n ", "\r\n", "a\n", "\u3000", "「あ。", "«a. ", "“a. ", "(", "a. ", "...", "\x00. ", "\u2029a."],
)
def test_hostile_texts_take_linear_time(unit: str):
    text = (unit * 100_000)[:100_000]
    before = time.process_time()
    assert joined(split_sentences(text, "ja")) == text
    assert time.process_time() - before < 10, (
        "the library alone takes 7 s for some of them, and 100 s for four times more"
    )


def test_a_lone_surrogate_is_refused():
    with pytest.raises(DataError, match="lone surrogate"):
        split_sentences("a\ud800b", "en")


def test_what_the_library_loses_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sentencex, "segment", lambda language, text: [text[:3]])
    assert split_sentences("one. two.", "en") == [("one. two.", "")]


class PanicException(BaseException):
    """What the library raises where it fails; it has no name to import it by."""


def test_where_the_library_fails_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    def fail(language: str, text: str) -> list[str]:
        raise failure

    monkeypatch.setattr(sentencex, "segment", fail)
    failure: BaseException = PanicException()
    assert split_sentences("one. two.", "en") == [("one. two.", "")]
    failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        split_sentences("one. two.", "en")


ENGLISH = {"Hello.": "你好。", "How are you?": "你好吗？", "Fine.": "很好。"}
CHINESE = {target: source for source, target in ENGLISH.items()}


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("en", "zh", "Hello. How are you?\n\n  Fine. ", "你好。你好吗？\n\n  很好。 "),
        ("en", "zh-Hans", "Yes. Hello. Good. Right.", "Yes.你好。Good. Right."),
        ("zh", "en", "你好。你好吗？\n　　很好。", "Hello. How are you?\n　　Fine."),
        ("zh", "en", "你好。　你好吗？ 很好。", "Hello. How are you? Fine."),
        ("zh", "ja", "你好。你好吗？ 很好。", "Hello.How are you? Fine."),
        ("en", "de", "Hello.  How are you?Fine.\t", "你好。  你好吗？很好。\t"),
        ("en", "th", "Hello. Fine.", "你好。 很好。"),
        ("", "", "Hello. Fine.", "你好。 很好。"),
    ],
)
def test_spaces_become_those_of_the_target(source: str, target: str, text: str, expected: str):
    assert translated(text, source, target, ENGLISH | CHINESE) == expected


def test_a_sentence_that_became_nothing_leaves_its_spaces():
    assert translated("Yes. Hello. Good.", "en", "de", {"Hello.": ""}) == "Yes.  Good."


def test_pieces_of_a_sentence_are_put_together_without_spaces():
    joiner = SentenceJoiner("zh", "en")
    assert [joiner.add("He"), joiner.add(""), joiner.add("llo.")] == ["He", "", "llo."]
    joiner.end_sentence("")
    assert [joiner.add(""), joiner.add("F"), joiner.add("ine."), joiner.end()] == ["", " F", "ine.", ""]
