"""Filters that compare the two sides."""

from functools import partial

import polars as pl
import pytest
from hypothesis import given

from dragoman.data.cleaning.filters.side_comparison import (
    control_characters,
    differing_addresses,
    differing_markup,
    differing_numbers,
    identical_sides,
    remove_addresses,
    similar_sides,
)
from tests.unit.data.cleaning.pairs import drops, frame
from tests.unit.text.samples import texts


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Trinidad", "TRINIDAD!", True),
        ("Stop!", "Stop !", True),
        ("page 12", "(Page 13)", True),
        ("1984", "1984", False),
        ("!", "?", False),
        ("", "", False),
        ("我", "我。", True),
        ("Straße", "Strasse", False),
        ("ÉTÉ", "été", True),
        ("a b", "ab", True),
        ("😀", "😀", False),
        ("السلام", "السلام!", True),
        ("house", "Haus", False),
    ],
)
def test_identical(source: str, target: str, expected: bool):
    assert drops(identical_sides, source, target) is expected
    assert drops(identical_sides, target, source) is expected


@given(texts)
def test_a_copy_is_dropped_exactly_if_it_has_letters(text: str):
    has_letters = frame([(text, text)])["source"].str.contains(r"\p{L}").item()
    assert drops(identical_sides, text, text) is has_letters


@pytest.mark.parametrize(
    ("source", "target", "similarity"),
    [
        ("Tom is arrogant.", "Tom ist arrogant.", 16 / 17),
        ("abcdefghij", "abcdefghix", 0.9),
        ("abc", "xyz", 0.0),
        ("我们说中文吧你们说吧", "我们说中文吧你们说呢", 0.9),
        ("a", "a", 1.0),
        ("a", "b", 0.0),
    ],
)
def test_similar(source: str, target: str, similarity: float):
    for maximum in (0.1, 0.5, 0.89, 0.9, 0.93, 0.95):
        assert drops(partial(similar_sides, maximum=maximum), source, target) is (similarity > maximum)
        assert drops(partial(similar_sides, maximum=maximum), target, source) is (similarity > maximum)


def test_copies_of_numbers_are_not_judged():
    assert not drops(partial(similar_sides, maximum=0.9), "1.", "1.")
    assert not drops(partial(similar_sides, maximum=0.9), "", "")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("1,234 men", "5.678 Mann"),
        ("1,234 men", "4321 Mann"),
        ("order 24680", "Bestellung 13579"),
        ("order 24680 of 1984", "Bestellung 13579"),
        ("order 24680 for 12 men", "Bestellung 12345"),
        ("12 men and 15 women", "23 Männer und 34 Frauen"),
        ("12 men, 15 women in 1984", "23 Männer, 34 Frauen im Jahr 1985"),
        ("٥٦ شخص ٧٨", "57 people and 79"),
        ("at 11 and 12", "um 21 und 22"),
        ("1億8345万人", "183,460,000 people"),
    ],
)
def test_numbers_that_differ(source: str, target: str):
    assert drops(differing_numbers, source, target)
    assert drops(differing_numbers, target, source)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("in 1984", "im Jahr 1984"),
        ("in 1984", "damals"),
        ("order 24680", "Bestellung 24680"),
        ("1,234 men", "1.234 Mann"),
        ("1,234 men", "1 234 Mann"),
        ("1,234 men", "1\u202f234 Mann"),
        ("1,234 men", "1234 Mann"),
        ("1'234 men", "1’234 Mann"),
        ("1,234,567.89", "1.234.567,89"),
        ("1,23,456 people", "123,456 people"),
        ("3.1415 and 12.5", "3,1415 und 12,5"),
        ("12.345 million and 17", "1234.5万和18"),
        ("12.5 million, 17", "1250万, 18"),
        ("123.45 million people", "1億2345万人"),
        ("the 1980s and 1990s, 12", "die 80er, 90er, 13"),
        ("on 05.03.1998", "5 March 1998"),
        ("on 05.03.98 at 10", "3/5/1998, 22"),
        ("५६ और ७८ लोग", "56 and 78 people"),
        ("56 and 78 people", "５６、７８人"),
        ("at 10 and 20", "um 20 und 30"),
        ("45 and 12", "12 und 45"),
        ("00 and 00", "000 und 0000"),
        ("room 7", "Zimmer 12"),
        ("x²³ 12", "13"),
    ],
)
def test_numbers_in_common(source: str, target: str):
    assert not drops(differing_numbers, source, target)
    assert not drops(differing_numbers, target, source)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("at 10 pm", "um 22 Uhr"),
        ("between 10 and 11 pm", "zwischen 22 und 23 Uhr"),
        ("100 miles away", "160 km entfernt"),
        ("10,000 feet high", "3048 Meter hoch"),
        ("in '45", "im Jahr 1945"),
        ("from '45 to '49", "von 1945 bis 1949"),
        ("in 2000", "พ.ศ. 2543"),
        ("from 2000 to 2005", "พ.ศ. 2543 ถึง 2548"),
        ("in 1945", "昭和20年"),
        ("from 1945 to 1950", "昭和20年から25年まで"),
        ("in the 1900s", "20世纪"),
        ("12.55 miles", "20.20 Kilometer"),
        ("on 3.10.1990", "3 ตุลาคม 2533"),
    ],
)
def test_numbers_that_a_translator_converts(source: str, target: str):
    assert not drops(differing_numbers, source, target)
    assert not drops(differing_numbers, target, source)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("See http://a.org/x.", "Siehe http://a.org/x", False),
        ("See http://a.org/x.", "见http://a.org/x。", False),
        ("See HTTP://A.org", "Siehe http://a.org/", False),
        ("See http://www.a.org", "Siehe www.a.org", False),
        ("See http://a.org/x", "Siehe http://a.org/y", True),
        ("See http://a.org/x", "Siehe dort", True),
        ("Write to me@a.com, now", "Schreib an me@a.com", False),
        ("Write to me@a.com", "Schreib an dich@a.com", True),
        ("Use @property here", "Hier @eigenschaft", False),
        ("a@b", "a at b", False),
        ("(http://a.org)", "（http://a.org）", False),
        ("See http://a.org's page", "Siehe http://a.org", False),
        ("See http://a.org'", "http://a.org'un sayfası", False),
        ("See http://a.org/wiki/Schindler's_List", "Siehe http://a.org/wiki/Schindler's_Liste", True),
        ("See http://a.org/wiki/Gr%C3%B6%C3%9Fe", "Siehe http://a.org/wiki/Größe", False),
        ("See http://a.org/wiki/%E4%B8%AD%E6%96%87", "见 http://a.org/wiki/中文", False),
        ("See http://a.org/a%28b%29c", "Siehe http://a.org/a(b)c", False),
        ("See http://a.org/Gr%C3%B6%C3%9Fe", "Siehe http://a.org/Hand", True),
        ("", "", False),
    ],
)
def test_addresses(source: str, target: str, expected: bool):
    assert drops(differing_addresses, source, target) is expected
    assert drops(differing_addresses, target, source) is expected


def test_addresses_are_taken_out():
    text = "See HTTP://A.org/x?y=1, www.b.org or me@c.com; not @d."
    left = frame([(text, "")]).select(remove_addresses(pl.col("source"))).item()
    assert left.split() == ["See", "or", ";", "not", "@d."]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("<b>bold</b>", "<B>fett</B>", False),
        ("<b>bold</b>", "fett", True),
        ("<b>bold</b>", "<b>fett<b>", True),
        ("a<br/>b", "a<br>b", False),
        ('<a href="x">here</a>', "<a href='y'>hier</a>", False),
        ("<p><i>a</i></p>", "<i><p>a</p></i>", False),
        ("1 < 2 and 3 > 2", "1 ist kleiner als 2", False),
        ("<file name>", "<Dateiname>", False),
        ("a <b and c> d", "x", True),
        ("I <3 you", "Ich liebe dich", False),
        ("<", "", False),
    ],
)
def test_markup(source: str, target: str, expected: bool):
    assert drops(differing_markup, source, target) is expected
    assert drops(differing_markup, target, source) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00", True),
        ("\x1b[0m", True),
        ("a\x85b", True),
        ("\x7f", True),
        ("a\tb", False),
        ("é我😀", False),
        ("", False),
    ],
)
def test_control_characters(text: str, expected: bool):
    assert drops(control_characters, text, "a") is expected
    assert drops(control_characters, "a", text) is expected
