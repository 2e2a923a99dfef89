import pytest

from dragoman.data.cleaning.filters.numbers import differing_numbers
from tests.unit.data.cleaning.pairs import drops


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
