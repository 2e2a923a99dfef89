from functools import partial

import polars as pl
import pytest
from hypothesis import given

from dragoman.data.cleaning.filters.scripts import (
    WEIGHTS,
    few_letters,
    uneven_lengths,
    weighted_length,
    wrong_script,
)
from tests.unit.data.cleaning.pairs import drops, frame
from tests.unit.text.samples import texts


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
