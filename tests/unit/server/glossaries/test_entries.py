"""Entries of glossaries as DeepL's clients send them."""

import pytest

from dragoman.server.errors import RequestError
from dragoman.server.glossaries.entries import EntriesFormat, format_tsv, parse_entries

GOOD: dict[str, tuple[EntriesFormat, str]] = {
    "tsv": ("tsv", "a b\tc\nd\te, f"),
    "crlf and blank lines": ("tsv", "\r\na b\tc\r\n\r\nd\te, f\r\n"),
    "spaces around terms": ("tsv", " a b \t c\nd\te, f"),
    "a byte-order mark": ("tsv", "\ufeffa b\tc\nd\te, f"),
    "twice the same": ("tsv", "a b\tc\nd\te, f\na b\tc"),
    "csv": ("csv", 'a b,c\nd,"e, f"'),
    "csv with languages": ("csv", 'a b,c,en,de\nd,"e, f",en,de'),
}


@pytest.mark.parametrize(("kind", "text"), GOOD.values(), ids=GOOD)
def test_entries(kind: EntriesFormat, text: str) -> None:
    assert parse_entries(text, kind) == {"a b": "c", "d": "e, f"}


def test_round_trip() -> None:
    terms = {"a b": "c", "d": "e, f"}
    assert parse_entries(format_tsv(terms), "tsv") == terms


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("tsv", "", "must contain a term"),
        ("tsv", "a\tb\nc", "line 2 must be a term and its translation, got 1 columns"),
        ("tsv", "a\t", "a term in line 1 must have 1 to 1024 characters, got 0"),
        ("tsv", "a\t" + "b" * 1025, "got 1025"),
        ("tsv", "a\tb\na\tc", "one translation, got a second one in line 2"),
        ("csv", "a,b,c", "got 3 columns"),
        ("csv", 'a,"b', "must be CSV"),
    ],
)
def test_invalid_entries_are_named_by_line(kind: EntriesFormat, text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_entries(text, kind)
