from functools import partial

import pytest
from hypothesis import given

from dragoman.data.cleaning.filters.copies import identical_sides, similar_sides
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
