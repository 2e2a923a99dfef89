"""Lines in windows: every line feed ends one, and nothing else does."""

from __future__ import annotations

import gzip
import io
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.api import text_lines
from dragoman.api.text_lines import LineSource, Window
from dragoman.errors import DataError

HOSTILE = st.text(
    st.characters(codec="utf-8", exclude_characters="\n") | st.sampled_from("\r\0\u2028\u2029\x85\x0b\x0c\x1c")
)


def read(path: Path) -> list[str]:
    with LineSource(path) as source:
        return [text for window in source.windows() for text in checked(window)]


def checked(window: Window) -> list[str]:
    texts, fault = window.texts()
    assert fault is None
    assert len(texts) == window.rows
    return texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


@given(st.lists(HOSTILE, max_size=30), st.booleans(), st.booleans())
@example(["\ufeff"], False, False)
@example(["", ""], True, True)
def test_one_text_a_line_whatever_it_holds(folder: Path, lines: list[str], ends: bool, packed: bool):
    data = "\n".join(lines).encode() + (b"\n" if lines and ends else b"")
    path = folder / ("lines.gz" if packed else "lines")
    path.write_bytes(gzip.compress(data) if packed else data)
    expected = data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n") if data else []
    decoded = [line.decode() for line in expected]
    if decoded:
        decoded[0] = decoded[0].removeprefix("\ufeff")
    assert read(path) == [line.removesuffix("\r") for line in decoded]


def test_windows_depend_on_the_text_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_lines, "_ROWS", 5)
    monkeypatch.setattr(text_lines, "_BYTES", 40)
    path = tmp_path / "text"
    path.write_text("".join(f"{'x' * (number % 13)}\n" for number in range(200)), encoding="utf-8")
    with LineSource(path) as source:
        whole = list(source.windows())
    assert [window.is_last for window in whole] == [False] * (len(whole) - 1) + [True]
    assert [window.first for window in whole] == [1 + sum(w.rows for w in whole[:n]) for n in range(len(whole))]
    assert {window.rows for window in whole} > {5}
    for number in range(len(whole)):
        with LineSource(path) as source:
            before = b"".join(source.blocks(sum(len(window.data) for window in whole[:number])))
            assert before == b"".join(window.data for window in whole[:number])
            assert list(source.windows()) == whole[number:]


def test_what_is_no_utf_8_is_named(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"good\n\ncaf\xe9 au lait\nmore\n")
    with LineSource(path) as source:
        (window,) = source.windows()
    texts, fault = window.texts()
    assert texts == ["good", ""]
    assert str(fault) == (
        f"{path}:3 must be UTF-8 text, got byte 0xE9 at place 4 of the line; convert the text with iconv -t UTF-8, or "
        "mend the line"
    )
    path.write_bytes(b"\xef\xbb\xbf\xff\n")
    with LineSource(path) as source:
        (window,) = source.windows()
    texts, fault = window.texts()
    assert texts == []
    assert f"{path}:1 must be UTF-8 text, got byte 0xFF at place 1" in str(fault)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_lines, "_LONGEST", 100)
    path = tmp_path / "text"
    path.write_bytes(b"short\n" + b"x" * 101)
    with LineSource(path) as source, pytest.raises(DataError, match=r"text:2 must have at most 100 bytes, got more"):
        list(source.windows())


@pytest.mark.parametrize("cut", [5, 30])
def test_damaged_gzip(tmp_path: Path, cut: int):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a line\n" * 1000)[:cut])
    with pytest.raises(DataError, match="must be whole gzip data, got damage"):
        read(path)
    path.write_bytes(b"no gzip data")
    with pytest.raises(DataError, match="must be whole gzip data, got damage"):
        read(path)


def test_files_that_cannot_be(tmp_path: Path):
    with pytest.raises(DataError, match="must be a file, but there is none"):
        LineSource(tmp_path / "none")
    with pytest.raises(DataError, match="must be a file of text, got a folder"):
        LineSource(tmp_path)


class _Pipe(io.FileIO):
    """A pipe as standard input."""


def test_a_slow_pipe_gives_lines_as_they_come(monkeypatch: pytest.MonkeyPatch):
    reads, writes = os.pipe()
    stdin = io.TextIOWrapper(io.BufferedReader(_Pipe(reads)), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    seen: list[list[str]] = []
    answered = threading.Event()

    def write() -> None:
        for part in (b"one\n", b"two\nthr", b"ee\n"):
            answered.clear()
            os.write(writes, part)
            assert answered.wait(5)
        os.write(writes, b"no end")
        os.close(writes)

    writer = threading.Thread(target=write)
    writer.start()
    with LineSource("-") as source:
        for window in source.windows_as_they_arrive():
            seen.append(checked(window))
            answered.set()
    writer.join()
    stdin.close()
    assert seen == [["one"], ["two"], ["three"], ["no end"]]


def test_a_fast_pipe_fills_windows(monkeypatch: pytest.MonkeyPatch):
    reads, writes = os.pipe()
    stdin = io.TextIOWrapper(io.BufferedReader(_Pipe(reads)), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)

    def write() -> None:
        with io.FileIO(writes, "wb") as pipe, io.BufferedWriter(pipe) as buffered:
            buffered.writelines(b"line %d\n" % number for number in range(20_000))

    writer = threading.Thread(target=write)
    writer.start()
    with LineSource("-") as source:
        windows = []
        for window in source.windows_as_they_arrive():
            windows.append(checked(window))
            time.sleep(0.001)
        assert source.lines == 20_000
    writer.join()
    stdin.close()
    assert [text for window in windows for text in window] == [f"line {number}" for number in range(20_000)]
    assert len(windows) < 60
