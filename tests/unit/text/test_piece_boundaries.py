"""Which pieces leave the word before them as it is."""

import pytest

from dragoman.text import Tokenizer
from dragoman.text.piece_boundaries import may_follow_words


def test_every_piece_by_what_it_begins_with(tokenizer: Tokenizer):
    marks = may_follow_words(tokenizer)
    assert marks.shape == (tokenizer.size,)
    assert marks[tokenizer.eos_id]
    assert not marks[tokenizer.unk_id]
    assert 0 < marks.sum() < tokenizer.size


@pytest.mark.parametrize(("text", "expected"), [("a Haus", True), ("a.", True), ("aß", False), ("北京", True)])
def test_characters(text: str, expected: bool, tokenizers: dict[str, Tokenizer]):
    tokenizer = tokenizers["character"]
    second = tokenizer.encode(text)[1]
    if second != tokenizer.unk_id:
        assert may_follow_words(tokenizer)[second] == expected
