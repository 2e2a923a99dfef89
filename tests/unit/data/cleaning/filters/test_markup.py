import pytest

from dragoman.data.cleaning.filters.markup import control_characters, differing_markup
from tests.unit.data.cleaning.pairs import drops


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
