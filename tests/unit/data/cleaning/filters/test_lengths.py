from functools import partial

import pytest

from dragoman.data.cleaning.filters.lengths import empty_side, few_words, long_text, long_word, many_words
from tests.unit.data.cleaning.pairs import drops


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
