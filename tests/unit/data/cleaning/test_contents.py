import pytest

from dragoman.data.cleaning.contents import control_characters, other_addresses, other_markup, other_numbers
from tests.unit.data.cleaning.pairs import drops


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("in 1984", "im Jahr 1985", True),
        ("in 1984", "im Jahr 1984", False),
        ("in 1984", "damals", False),
        ("1,000 men", "1.000 Mann", False),
        ("1,000 men", "1 000 Mann", False),
        ("1,000 men", "1\u202f000 Mann", False),
        ("1,000 men", "1000 Mann", False),
        ("1'000 men", "1’000 Mann", False),
        ("1,234 men", "5.678 Mann", True),
        ("1,000 men", "2.000 Mann", True),
        ("3.14", "3,14", False),
        ("12.5 million", "1250万", False),
        ("200,000 people", "20万人", False),
        ("the 1980s", "die 80er", False),
        ("the 1900s", "20世纪", False),
        ("the 1980s", "die 90er", True),
        ("on 05.03.1998", "5 March 1998", False),
        ("५६ लोग", "56 people", False),
        ("٥٦ شخص", "57 people", True),
        ("56 people", "５６人", False),
        ("room 7", "Zimmer 12", False),
        ("at 10 and 20", "um 20 und 30", False),
        ("in 1990 200 men", "1990 waren 200 Mann", False),
        ("00", "000", False),
        ("x²³ 12", "13", True),
        ("45 and 12", "12 und 45", False),
        ("1 or 12", "21 oder 1", True),
    ],
)
def test_numbers(source: str, target: str, expected: bool):
    assert drops(other_numbers, source, target) is expected
    assert drops(other_numbers, target, source) is expected


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
        ("", "", False),
    ],
)
def test_addresses(source: str, target: str, expected: bool):
    assert drops(other_addresses, source, target) is expected
    assert drops(other_addresses, target, source) is expected


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
    assert drops(other_markup, source, target) is expected
    assert drops(other_markup, target, source) is expected


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
