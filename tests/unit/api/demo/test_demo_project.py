"""The corpus of dates: right, unambiguous, the same every time, and with nothing to be remembered."""

import re
from datetime import date, timedelta
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.api.demo.demo_project import FIRST, LAST, SPELLINGS, date_corpus, ordinal_in_words, year_in_words

SETS = date_corpus(5000, validation=220, test=440, seed=1)


def test_spellings_by_hand() -> None:
    spelt = {spell(date(1998, 5, 3)) for spell in SPELLINGS}
    assert len({spell(date(1998, 9, 3)) for spell in SPELLINGS}) == len(SPELLINGS)
    assert {
        "3 May 1998",
        "May 3rd, 1998",
        "Sunday, 3 May 1998",
        "the third of May, 1998",
        "on the 3rd of May in 1998",
        "May the third, nineteen ninety-eight",
        "1998/05/03",
        "03.05.1998",
        "3.5.1998",
    } <= spelt


@pytest.mark.parametrize(
    ("year", "words"),
    [
        (1900, "nineteen hundred"),
        (1905, "nineteen oh five"),
        (1913, "nineteen thirteen"),
        (1998, "nineteen ninety-eight"),
        (2000, "two thousand"),
        (2005, "two thousand and five"),
        (2010, "twenty ten"),
        (2041, "twenty forty-one"),
    ],
)
def test_years_as_they_are_said(year: int, words: str) -> None:
    assert year_in_words(year) == words


def test_ordinals() -> None:
    words = [ordinal_in_words(day) for day in (1, 2, 3, 4, 5, 8, 9, 12, 13, 20, 21, 22, 23, 30, 31)]
    assert words == [
        *("first", "second", "third", "fourth", "fifth", "eighth", "ninth", "twelfth", "thirteenth"),
        *("twentieth", "twenty-first", "twenty-second", "twenty-third", "thirtieth", "thirty-first"),
    ]
    endings = {day: re.search(rf"{day}(st|nd|rd|th)", SPELLINGS[2](date(2001, 1, day))) for day in (1, 2, 3, 4, 11, 13)}
    assert [found and found[1] for found in endings.values()] == ["st", "nd", "rd", "th", "th", "th"]


@given(st.dates(FIRST, LAST), st.dates(FIRST, LAST))
def test_no_spelling_stands_for_two_dates(one: date, other: date) -> None:
    swapped = date(one.year, one.day, one.month) if one.day <= 12 else other
    for wrong in {other, swapped} - {one}:
        assert not {spell(one) for spell in SPELLINGS} & {spell(wrong) for spell in SPELLINGS}


def test_no_two_of_many_dates_share_a_spelling() -> None:
    seen: dict[str, date] = {}
    for days in range(0, (LAST - FIRST).days + 1, 29):
        day = FIRST + timedelta(days=days)
        for spell in SPELLINGS:
            assert seen.setdefault(spell(day), day) == day


def test_the_sets_have_no_date_in_common() -> None:
    dates = {name: {target for _, target in pairs} for name, pairs in SETS.items()}
    assert not dates["train"] & (dates["validation"] | dates["test"])
    assert not dates["validation"] & dates["test"]
    assert {name: len(pairs) for name, pairs in SETS.items()} == {"train": 5000, "validation": 220, "test": 440}


def test_held_out_dates_come_once_and_every_spelling_equally_often() -> None:
    assert len({target for _, target in SETS["test"]}) == 440
    for (source, target), spell in zip(SETS["test"], cycle(SPELLINGS), strict=False):
        assert source == spell(date.fromisoformat(target))


def test_it_is_the_same_every_time() -> None:
    assert date_corpus(50, validation=2, test=2, seed=1) == date_corpus(50, validation=2, test=2, seed=1)
    assert date_corpus(50, validation=2, test=2, seed=1) != date_corpus(50, validation=2, test=2, seed=2)
    assert SETS["test"][0] == date_corpus(1, validation=220, test=440, seed=1)["test"][0]
