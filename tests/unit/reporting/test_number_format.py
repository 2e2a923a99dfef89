import pytest

from dragoman.reporting.number_format import (
    format_bytes,
    format_compact,
    format_count,
    format_duration,
    format_percent,
    format_remaining,
)


def test_numbers_have_their_noun():
    assert format_count(1, "pair") == "1 pair"
    assert format_count(12_345, "pair") == "12,345 pairs"
    assert format_count(2, "batch", "batches") == "2 batches"


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 7, "0 %"),
        (7, 7, "100 %"),
        (1, 3, "33.3 %"),
        (1, 1_000_000, "<0.1 %"),
        (999_999, 1_000_000, ">99.9 %"),
        (5, 0, "0 %"),
    ],
)
def test_only_nothing_is_nothing_and_only_all_is_all(part: int, whole: int, shown: str):
    assert format_percent(part, whole) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min 00 s"),
        (3599.9, "1 h 00 min"),
        (7_265, "2 h 01 min"),
        (157_000, "1 d 19 h"),
    ],
)
def test_durations(seconds: float, shown: str):
    assert format_duration(seconds) == shown


def test_sizes_and_large_numbers():
    assert [format_bytes(n) for n in (0, 1023, 1536, 3_650_722_201, 5 * 2**40)] == [
        "0 bytes",
        "1023 bytes",
        "1.5 KiB",
        "3.4 GiB",
        "5.0 TiB",
    ]
    assert [format_compact(n) for n in (0, 950, 8_420, 61_240_832, 123_456_789_000)] == [
        "0",
        "950",
        "8.42 k",
        "61.2 M",
        "123 G",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "0 s"),
        (9.7, "10 s"),
        (42, "40 s"),
        (58, "1 min"),
        (88, "1 min 30 s"),
        (790, "13 min"),
        (3599, "1 h 00 min"),
        (7533, "2 h 05 min"),
        (100_000, "1 d 4 h"),
    ],
)
def test_estimates_are_rounded(seconds: float, shown: str):
    assert format_remaining(seconds) == shown
