"""Nothing that a terminal or a browser would obey is left in what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.reporting.safe_display_text import visible, visible_parts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode 我 سلام", "plain, ünïcode 我 سلام"),
        ("a\x85b", "a\\x85b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202egnp\u202c", "\\u202egnp\\u202c"),
        ("\u2028\ufeff\xa0", "\\u2028\\ufeff\\xa0"),
        ("lone \ud800", "lone \\ud800"),
        ("日本\u3000語 می\u200cخواهم 👩\u200d👧", "日本\u3000語 می\u200cخواهم 👩\u200d👧"),
    ],
)
def test_what_cannot_be_seen_is_spelt_out(text: str, shown: str):
    assert visible(text) == shown


def test_a_long_text_is_cut():
    assert visible("x" * 1_000_000, 10) == "x" * 9 + "…"
    assert visible("x" * 10, 10) == "x" * 10


def test_parts_say_what_is_spelt_out():
    assert list(visible_parts("a\x00\x01b")) == [("a", False), ("\\x00\\x01", True), ("b", False)]


@given(st.text(st.characters()))
def test_any_text_becomes_printable_and_can_be_written(text: str):
    shown = visible(text)
    assert all(character.isprintable() or character in "\u3000\u200c\u200d" for character in shown)
    shown.encode("utf-8")
