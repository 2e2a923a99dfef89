"""Texts without case, punctuation and blanks."""

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.duplicates.text_folding import fold_texts

texts = st.lists(st.text(max_size=12), max_size=8)


def folded(values):
    return [token.decode("utf-32-le") for token in fold_texts(pl.Series(values, dtype=pl.String)).to_bytes()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World 42!", "helloworld42"),
        ("ΟΔΟΣ οδος", "οδοσοδοσ"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("STRAẞE", "strasse"),
        ("ﬁne ﬄ", "fineffl"),
        ("Ａ１２ｂ", "a12b"),
        ("२०११", "2011"),
        ("١٢ ۱۲ 𝟙𝟚", "121212"),
        ("½ x² Ⅳ", "12x2iv"),
        ("ﾊﾞﾋﾟ ﾊ", "バピハ"),  # half-width: the mark of the voice is a character of its own
        ("ﾡￂ", "가"),  # half-width parts of a syllable
        ("don´t", "dont"),  # a spacing accent is punctuation, though it decomposes to a blank and a mark
        ("ǰ J\u030c", "ǰǰ"),
        ("É e\u0301", "éé"),
        ("กำ", "ก\u0e4dา"),
        ("ὈΔΥΣΣΕΎΣ ᾳ ᾼ", "ὀδυσσεύσαιαι"),
        ("語は、\u3000ことば。", "語はことば"),
        ("की का", "कीका"),  # vowel signs are marks, not letters, and tell words apart
        ("İ i İSTANBUL", "iiistanbul"),
        ("…?!", "…?!"),
        ("\0", "\0"),
        ("", ""),
        ("ß", "ss"),
        ("𝒜\U000e0100\U0010ffff", "a"),
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


def matched(text):
    """Unicode's rule for caseless compatibility matching (D146), on what counts of a text."""
    text = "".join(c if counts(c) else " " for c in text)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", text).casefold())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    digits = (str(unicodedata.decimal(c, c)) for c in text if counts(c))
    return "".join(digits)


def counts(character):
    return unicodedata.category(character)[0] in "LMN" and ord(character) < 0x40000


awkward = st.sampled_from("ßẞﬁﾊﾞＡ１２२½²ΐΣςﬀǰJ\u030c\u0301eÉ´-ㅏ가ﾡￂกำ") | st.characters(exclude_categories=["Cs"])


@given(st.lists(st.text(awkward, max_size=12), max_size=8))
def test_as_unicode_matches_without_case_and_form(values):
    values = [unicodedata.normalize("NFC", value) for value in values if "i\u0307" not in value.casefold()]
    for value, result in zip(values, folded(values), strict=True):
        if any(map(counts, value)):
            assert result == matched(value)


def test_every_character_alone():
    values = [chr(point) for point in range(0x40000) if not 0xD800 <= point < 0xE000 and chr(point) != "İ"]
    wrong = [
        value
        for value, result in zip(values, folded(values), strict=True)
        if result != (matched(value) if counts(value) else value)
    ]
    assert wrong == []
