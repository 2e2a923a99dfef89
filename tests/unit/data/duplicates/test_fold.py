"""Texts without case, punctuation and blanks."""

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.duplicates.fold import fold

texts = st.lists(st.text(max_size=12), max_size=8)


def folded(values):
    return [piece.decode("utf-32-le") for piece in fold(pl.Series(values, dtype=pl.String)).pieces()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World 42!", "helloworld42"),
        ("ΟΔΟΣ οδος", "οδοσοδοσ"),
        ("Straße", "straße"),
        ("語は、\u3000ことば。", "語はことば"),
        ("की का", "कीका"),  # vowel signs are marks, not letters, and tell words apart
        ("İ", "i"),
        ("…?!", "…?!"),
        ("\0", "\0"),
        ("", ""),
        ("𝒜\U000e0100\U0010ffff", "𝒜"),
    ],
)
def test_by_hand(text, expected):
    assert folded([text]) == [expected]


@given(texts)
def test_each_text_on_its_own(values):
    assert folded(values) == [folded([value])[0] for value in values]


@given(texts)
def test_what_is_left(values):
    for value, result in zip(values, folded(values), strict=True):
        if any(unicodedata.category(c)[0] in "LMN" and ord(c) < 0x40000 for c in value):
            assert all(unicodedata.category(c)[0] in "LMN" for c in result)
        else:
            assert result == value


@given(texts)
def test_folding_twice_changes_nothing(values):
    assert folded(folded(values)) == folded(values)
