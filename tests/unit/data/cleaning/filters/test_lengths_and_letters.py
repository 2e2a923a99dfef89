"""Filters of lengths, letters, scripts and repetitions."""

from functools import partial

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.data.cleaning.filters.lengths_and_letters import (
    WEIGHTS,
    empty_side,
    few_letters,
    few_words,
    has_repetition,
    long_text,
    long_word,
    many_words,
    repetitive,
    uneven_lengths,
    weighted_length,
    wrong_script,
)
from tests.unit.data.cleaning.pairs import drops, frame
from tests.unit.text.samples import texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), (" ", True), ("\u3000\t", True), ("a", False), ("我", False), (".", False), (" 😀 ", False)],
)
def test_empty(text: str, expected: bool):
    assert drops(empty_side, text, "Hallo") is expected
    assert drops(empty_side, "Hallo", text) is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one", 1),
        (" two  words ", 2),
        ("don't panic", 2),
        ("Donaudampfschifffahrtsgesellschaft", 1),
        ("我们说中文。", 5),
        ("我用Python写代码。", 6),
        ("。", 0),
        ("안녕 세상", 2),
        ("السلام عليكم", 2),
        ("👩\u200d👩\u200d👧 😀", 2),
        ("ก็ดี", 2),
        ("a我b我", 4),
    ],
)
def test_words_are_counted_in_every_script(text: str, words: int):
    other = "w " * words + "w"  # one more, so that only the text decides
    assert drops(partial(few_words, minimum=words + 1), text, other)
    assert not drops(partial(few_words, minimum=max(words, 1)), text, other) or words == 0
    if words:
        assert not drops(partial(many_words, maximum=words), text, "w")
        assert drops(partial(many_words, maximum=words - 1), text, "") if words > 1 else True


@pytest.mark.parametrize("maximum", [1, 2, 7, 200])
@pytest.mark.parametrize("word", ["w ", "我", "ก", "ab ", "é "])
def test_the_limit_of_words_is_exact(word: str, maximum: int):
    assert not drops(partial(many_words, maximum=maximum), (word * maximum).strip(), "x")
    assert drops(partial(many_words, maximum=maximum), "x", (word * (maximum + 1)).strip())


def test_characters_are_counted_not_bytes():
    assert not drops(partial(long_text, maximum=4), "我们中文", "a")
    assert drops(partial(long_text, maximum=4), "a", "abcde")


@pytest.mark.parametrize(
    ("text", "maximum", "expected"),
    [
        ("x" * 100, 100, False),
        ("x" * 101, 100, True),
        ("我" * 300, 100, False),
        ("我" * 300 + "x" * 101, 100, True),
        ("x" * 150, 150, False),
        ("a " + "x" * 1501, 1500, True),
        ("ab " * 200, 3, False),
        ("abcd", 3, True),
        ("", 3, False),
        ("http://a.org/" + "x" * 100, 100, False),
        ("见http://a.org/" + "x" * 100 + "。", 100, False),
        ("me@" + "x" * 100 + ".org", 100, False),
        ("http://a.org/ " + "x" * 101, 100, True),
    ],
)
def test_long_words(text: str, maximum: int, expected: bool):
    assert drops(partial(long_word, maximum=maximum), text, "a") is expected
    assert drops(partial(long_word, maximum=maximum), "a", text) is expected


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("grün", 4), ("我们。", 7), ("カタ", 3.4), ("안녕 세상", 9), ("我a", 4), ("😀", 1), ("السلام", 6)],
)
def test_weighted_length(text: str, length: float):
    measured = frame([(text, "")]).select(weighted_length(pl.col("source"))).item()
    assert measured == pytest.approx(length)


@given(texts)
def test_the_weighted_length_is_between_characters_and_bytes(text: str):
    measured = frame([(text, "")]).select(weighted_length(pl.col("source"))).item()
    assert len(text) <= measured <= len(text.encode()) + 1e-9


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Hi.", "Grüß Gott!", False),
        ("Hi.", "x" * 44, False),
        ("Hi.", "x" * 45, True),
        ("We speak Chinese here today.", "我们今天说中文。", False),
        ("word " * 100, "我" * 20, True),
        ("word " * 20, "我" * 30, False),
        ("我" * 5, "我" * 100, True),
        ("", "x" * 33, True),
        ("😀", "a smiling face", False),
        ("Front stroke swimming race roped off lap areas.", "@@", True),
    ],
)
def test_uneven_sides(source: str, target: str, expected: bool):
    find = partial(uneven_lengths, maximum=4.0)
    assert drops(find, source, target) is expected
    assert drops(find, target, source) is expected


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("abc", 1.0),
        ("I'm 19.", 2 / 4),
        ("on 3 October 1990", 1.0),
        ("am 3.10.1990", 1.0),
        ("um 19.45", 1.0),
        ("at 19:45", 1.0),
        ("3/4 of 16", 1.0),
        ("१२.३ में", 1.0),
        ("1 - 2 ab", 2 / 3),
        ("$12 a", 1 / 2),
        ("1984", 0.0),
        ("!", 0.0),
        ("a 1", 1.0),
        ("नमस्ते", 1.0),
        ("我1。", 0.75),
        ("😀😀 a", 1 / 3),
        ("السلام 12", 1.0),
        ('"So," he said (in 1984), "it is."', 16 / 23),
        ("1, 2, 3, 4, abcdefgh", 8 / 12),
    ],
)
def test_share_of_letters(text: str, share: float):
    for minimum in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 1.0):
        if abs(minimum - share) > 1e-9:
            assert drops(partial(few_letters, minimum=minimum), text, "abc") is (share < minimum), minimum
            assert drops(partial(few_letters, minimum=minimum), "abc", text) is (share < minimum), minimum


@given(texts)
def test_the_fast_test_of_letters_agrees_with_counting(text: str):
    letters = frame([(text, "")]).select(pl.col("source").str.count_matches(r"[\p{L}\p{M}]")).item()
    others = frame([(text, "")]).select(pl.col("source").str.count_matches(r"[^\p{L}\p{M}\s]")).item()
    for minimum in (0.15, 0.35, 0.55, 0.95):
        if letters and letters >= minimum * (letters + others):
            assert not drops(partial(few_letters, minimum=minimum), text, "abc")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Hello", False),
        ("en", "Привет", True),
        ("en", "the word Привет", False),
        ("vi", "Tiếng Việt", False),
        ("zh", "我用Twitter。", False),
        ("zh-TW", "我們", False),
        ("zh", "Seabourn Encore", True),
        ("zh", "1984", False),
        ("ja", "コンピューター", False),
        ("ja", "日本語のテキスト", False),
        ("ja", "한국어입니다", True),
        ("ko", "韓國 사람", False),
        ("ru", "Привет", False),
        ("ru", "Hello", True),
        ("sr", "Zdravo", False),
        ("sr", "Здраво", False),
        ("hi", "नमस्ते दुनिया", False),
        ("ar", "السلام عليكم", False),
        ("fa", "سلام\u200cدنیا", False),
        ("th", "ภาษาไทย", False),
        ("el", "Καλημέρα", False),
        ("en", "😀 123", False),
        ("en", "", False),
    ],
)
def test_foreign_script(language: str, text: str, expected: bool):
    find = partial(wrong_script, source=language, target="en", minimum=0.4)
    assert drops(find, text, "Hello") is expected
    assert drops(partial(wrong_script, source="en", target=language, minimum=0.4), "Hello", text) is expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("I use Windows Vista Home Premium.", "我用Windows Vista Home Premium。", False),
        ("I use it.", "我用Windows Vista Home Premium。", True),
        ("I use windows vista home premium.", "我用Windows Vista Home Premium。", True),
        ("The ship is called Seabourn Encore.", "Seabourn Encore", True),
        ("Windows Vista Home Premium is here.", "Windows Vista is my operating system 我", True),
        ("Windows, Windows, Windows!", "Windows，Windows，Windows 啊！", False),
    ],
)
def test_words_of_both_sides_are_not_foreign(source: str, target: str, expected: bool):
    assert drops(partial(wrong_script, source="en", target="zh", minimum=0.3), source, target) is expected
    assert drops(partial(wrong_script, source="zh", target="en", minimum=0.3), target, source) is expected


def test_every_weighted_script_is_known_to_the_engine():
    for script in WEIGHTS:
        frame([("a", "b")]).select(pl.col("source").str.contains(rf"\p{{scx={script}}}"))


words = st.lists(st.sampled_from(["a", "no", "nope", "né", "我", "12", "-"]), max_size=40)


def literally(tokens: list[str], maximum: int) -> bool:
    """Every run at every place, compared with what follows it."""
    for start in range(len(tokens)):
        for size in range(1, len(tokens)):
            run = tokens[start : start + size]
            times = maximum + 2
            if tokens[start : start + size * times] == run * times and any(map(str.isalpha, "".join(run))):
                return True
    return False


@given(words, st.integers(1, 4))
@example(["a", "b"] * 3, 1)
@example(["-"] * 9 + ["a"] * 4, 2)
@example(["a"] * 3, 1)
def test_runs_are_found_as_a_literal_search_finds_them(tokens: list[str], maximum: int):
    expected = literally(tokens, maximum)
    assert has_repetition(tokens, maximum) is expected
    assert drops(partial(repetitive, source="en", target="en", maximum=maximum), " ".join(tokens), "a") is expected
    characters = "".join(tokens)
    found = drops(partial(repetitive, source="en", target="zh", maximum=maximum), "a", characters)
    assert found is literally(list(characters), maximum)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "no " * 9 + "no", True),
        ("en", "no " * 8 + "no", False),
        ("en", "Row, row, row your boat", False),
        ("en", "the cat and " * 10, True),
        ("en", "the cat and " * 9, False),
        ("en", "yes, " + "a b c d e f g h i j k l " * 10 + "yes", True),
        ("en", "- " * 40, False),
        ("en", "hahahahahahahahahahahahahaha", False),
        ("zh", "哈" * 10, True),
        ("zh", "哈" * 9, False),
        ("zh", "他说：" + "好的" * 10 + "。", True),
        ("zh", "…" * 40, False),
        ("cmn", "哈" * 10, True),
        ("ja", "いいえ" * 10, True),
        ("th", "ครับ" * 10, True),
        ("ko", "네 " * 10, True),
        ("ar", "لا " * 10, True),
        ("en", "", False),
        ("en", "a", False),
        ("en", "😀 " * 20, False),
        ("en", "é " * 10, True),
    ],
)
def test_repeats(language: str, text: str, expected: bool):
    assert drops(partial(repetitive, source=language, target="en", maximum=8), text.strip(), "a") is expected
    assert drops(partial(repetitive, source="en", target=language, maximum=8), "a", text.strip()) is expected


def test_pairs_that_are_alike_are_not_taken_for_one_that_repeats_itself():
    many = frame([("A man in a red shirt.", "Ein Mann.")] * 50)
    assert not repetitive(many, source="en", target="de", maximum=8).any()


def test_a_frame_without_pairs():
    assert repetitive(frame([]), source="en", target="zh", maximum=8).to_list() == []


def test_many_pairs_are_looked_at_in_parts():
    many = [("A man in a red shirt.", "Ein Mann.")] * 20_000
    for row in (0, 8191, 8192, 19_999):
        many[row] = ("no " * 12, "nein")
    assert repetitive(frame(many), source="en", target="de", maximum=8).arg_true().to_list() == [0, 8191, 8192, 19_999]
