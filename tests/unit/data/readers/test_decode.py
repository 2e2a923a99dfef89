import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.readers.lines import check_text, decode_lines, split_lines, strip_line_ends
from dragoman.data.reason_counts import Tally
from dragoman.errors import DataError

LINE = st.one_of(st.text(), st.sampled_from(["ä", "\0", "x\u2028"])).map(lambda text: text.replace("\n", "").encode())
BYTES = st.binary().map(lambda line: line.replace(b"\n", b""))


def as_text(line: bytes) -> str | None:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


@given(st.lists(st.one_of(LINE, BYTES), min_size=1))
def test_texts_are_what_python_decodes_line_by_line(lines: list[bytes]):
    block = b"\n".join(lines) + b"\n"
    decoded = decode_lines(split_lines(block, len(lines)), max_line_bytes=1000)
    assert decoded.texts.to_list() == [as_text(line) for line in lines]
    assert sorted(decoded.faults) == [row for row, line in enumerate(lines) if as_text(line) is None]


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (b"abc\xe4", "not UTF-8", "byte 4 of the line is 0xE4; WINDOWS-1252 text?"),
        (b"ab\xed\xa0\x80", "not UTF-8", "byte 3 of the line is 0xED; half of a surrogate pair (CESU-8)"),
        ("한".encode() + b"\xed\xa0\x80", "not UTF-8", "byte 4 of the line is 0xED; half of a surrogate pair (CESU-8)"),
        (b"abc\x81", "not UTF-8", "byte 4 of the line is 0x81"),
        ("他们".encode("gb18030"), "not UTF-8", "byte 1 of the line is 0xCB; GB18030 text?"),
        (b"abcdefg\0h", "NUL byte", "byte 8 of the line"),
        (
            b"a\0b\0",
            "NUL byte",
            "byte 2 of the line; UTF-16 text? convert it: iconv -f UTF-16LE (or UTF-16BE) -t UTF-8",
        ),
        (b"x" * 21, "line too long", "21 bytes; max_line_bytes allows 20"),
    ],
)
def test_a_fault_says_where_it_is(line: bytes, reason: str, detail: str):
    fault = decode_lines(pl.Series([b"good", line]), max_line_bytes=20).faults[1]
    assert (fault.reason, fault.detail) == (reason, detail)


def test_the_encoding_is_guessed_from_all_lines_together():
    lines = [text.encode("gb18030") for text in ("我们在这里说的是中国的事。", "重庆", "鹤", "Tel. 123 号")]
    faults = decode_lines(pl.Series(lines), max_line_bytes=100).faults
    assert {fault.detail.partition("; ")[2] for fault in faults.values()} == {"GB18030 text?"}


def test_null_stays_null():
    decoded = decode_lines(pl.Series([None, b"x", b"\xff"]), max_line_bytes=3)
    assert decoded.texts.to_list() == [None, "x", None]
    assert list(decoded.faults) == [2]


def test_only_the_first_line_of_a_file_can_have_its_mark_removed():
    notes = Tally()
    assert strip_line_ends(b"\xef\xbb\xbfa\n", "f", 2, notes) == b"\xef\xbb\xbfa\n"
    assert not notes.total
    assert strip_line_ends(b"\xef\xbb\xbfa\n", "f", 1, notes) == b"a\n"
    assert notes.counts == {"byte-order mark removed": 1}


def test_carriage_returns_are_removed_at_line_ends_only():
    notes = Tally()
    assert strip_line_ends(b"a\r\nb\rc\n\r\r\nd\r", "f", 11, notes) == b"a\nb\rc\n\r\nd"
    assert [example.line for example in notes.examples["carriage return removed"]] == [11, 13, 14]


def test_a_file_that_is_only_a_mark_is_one_empty_line():
    assert split_lines(strip_line_ends(b"\xef\xbb\xbf", "f", 1, Tally()), 1).to_list() == [b""]


def test_a_wrong_number_of_lines_is_noticed():
    with pytest.raises(DataError, match="must hold 3 lines, got 2"):
        split_lines(b"a\nb\n", 3)


def test_texts_from_escapes_follow_the_same_rules():
    assert check_text("ä", 2) is None
    assert [
        fault and fault.reason for fault in (check_text("ää", 2), check_text("\0", 2), check_text("\ud800", 9))
    ] == [
        "line too long",
        "NUL byte",
        "lone surrogate",
    ]
