"""Tokens of a span, and tokens that may follow a word."""

import pytest

from dragoman.text import Tokenizer
from dragoman.text.tokenizers.token_spans import TokenLocator, word_boundary_tokens
from testkit.growth import growth


def test_every_token_by_what_it_begins_with(tokenizer: Tokenizer):
    marks = word_boundary_tokens(tokenizer)
    assert marks.shape == (tokenizer.size,)
    assert marks[tokenizer.eos_id]
    assert not marks[tokenizer.unk_id]
    assert 0 < marks.sum() < tokenizer.size


@pytest.mark.parametrize(("text", "expected"), [("a Haus", True), ("a.", True), ("aß", False), ("北京", True)])
def test_characters(text: str, expected: bool, tokenizers: dict[str, Tokenizer]):
    tokenizer = tokenizers["character"]
    second = tokenizer.encode(text)[1]
    if second != tokenizer.unk_id:
        assert word_boundary_tokens(tokenizer)[second] == expected


@pytest.mark.parametrize(
    ("tokens", "start", "end", "expected"),
    [
        (["▁the", "▁dog", "."], 4, 7, [1]),
        (["▁the", "▁do", "g", "."], 4, 7, [1, 2]),
        (["▁the", "▁dog", "."], 0, 3, [0]),
        (["▁the", "▁dog", "."], 0, 8, [0, 1, 2]),
        (["▁", "狗", "在", "家"], 0, 1, [1]),
        (["t", "h", "e", "▁", "d", "o", "g"], 4, 7, [4, 5, 6]),
        (["▁a", "▁<", "b"], 3, 4, [2]),
        (["▁a", "▁", "<0xC3>", "<0xA4>", "b", "▁c"], 2, 4, [2, 3, 4]),
    ],
)
def test_the_tokens_that_spell_a_stretch(tokens: list[str], start: int, end: int, expected: list[int]):
    assert TokenLocator(tokens).find(start, end) == expected


def test_every_word_of_a_text_is_found(tokenizer: Tokenizer):
    text = "wir haben ein kleines Haus"
    tokens = tokenizer.tokens(text)
    for word in text.split():
        start = text.index(word)
        found = [tokens[number] for number in TokenLocator(tokens).find(start, start + len(word))]
        assert word in "".join(found).replace("▁", " ")


def test_many_spans_take_linear_time():
    def locate_all(size: int) -> None:
        locator = TokenLocator(["▁a"] * size)
        for number in range(size):
            assert locator.find(2 * number, 2 * number + 1) == [number]

    assert growth(locate_all, 1000, factor=8) < 24, "quadratic: 64"
