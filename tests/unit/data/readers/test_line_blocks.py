import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.readers import lines as cut
from dragoman.data.readers import streams as packing
from dragoman.data.readers.lines import LineBlockReader, line_lengths
from dragoman.data.readers.streams import ByteStream
from dragoman.errors import DataError

TEXT = st.lists(st.sampled_from([b"\n", b"a", b"\r", b"\x85", b"\xe2\x80\xa8", b"bc"]), min_size=1).map(b"".join)
READABLE = TEXT.filter(lambda data: b"\n" in data or data.count(b"\r") < 2)


def cutter(data: bytes) -> LineBlockReader:
    return LineBlockReader(ByteStream("a", io.BytesIO(data), len(data)))


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(READABLE, st.integers(1, 5), st.integers(1, 9))
def test_blocks_are_whole_lines_in_order(data: bytes, rows: int, token: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_BLOCK", token)
        side = cutter(data)
        blocks = []
        while taken := side.fill(rows):
            blocks.append((side.line, side.take(taken)))
    assert b"".join(block for _, block in blocks) == data
    assert [line for _, block in blocks for line in lines_of(block)] == lines_of(data)
    assert all(after - before == rows for (before, _), (after, _) in pairwise(blocks))
    assert all(len(lines_of(block)) == rows for _, block in blocks[:-1])


@given(TEXT)
def test_lengths_are_those_of_the_lines(data: bytes):
    assert line_lengths(data).tolist() == [len(line) for line in lines_of(data)]


@given(READABLE, st.integers(0, 3))
def test_counting_the_rest(data: bytes, taken: int):
    side = cutter(data)
    rows = side.fill(max(1, taken))
    side.take(min(rows, taken))
    assert side.count_rest() == len(lines_of(data))


def test_a_block_is_cut_short_rather_than_held_without_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cut, "MOST_BYTES", 100)
    monkeypatch.setattr(packing, "_BLOCK", 10)
    side = cutter(b"0123456789\n" * 50)
    assert 9 <= side.fill(1000) <= 11


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cut, "MOST_BYTES", 100)
    monkeypatch.setattr(packing, "_BLOCK", 10)
    side = cutter(b"one\n" + b"x" * 1000)
    side.take(side.fill(1))
    with pytest.raises(DataError, match=r"a:2 must be a line of text"):
        side.fill(1)


def test_carriage_returns_alone_end_no_lines(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DataError, match=r"a must end its lines with line feeds, got 3 carriage .* convert it: tr "):
        cutter(b"one\rtwo\rthree\r").fill(1)
    assert cutter(b"one\r").fill(1) == 1
    monkeypatch.setattr(cut, "MOST_BYTES", 100)
    monkeypatch.setattr(packing, "_BLOCK", 10)
    with pytest.raises(DataError, match="carriage returns"):
        cutter(b"one\r" * 1000).fill(1)


def test_blocks_have_numpy_ends():
    assert cut.line_ends(b"a\n\nb").dtype == np.int64
