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

from dragoman.api.files import input_lines as lines
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.errors import DataError

HOSTILE = st.text(
    st.characters(codec="utf-8", exclude_characters="\n") | st.sampled_from("\r\0\u2028\u2029\x85\x0b\x0c\x1c")
)


def read(path: Path) -> list[str]:
    with LineReader(path) as source:
        return [text for block in source.blocks() for text in checked(block)]


def checked(block: LineBlock) -> list[str]:
    texts, fault = block.texts()
    assert fault is None
    assert len(texts) == block.lines
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
    monkeypatch.setattr(lines, "_LINES", 5)
    monkeypatch.setattr(lines, "_BYTES", 40)
    path = tmp_path / "text"
    path.write_text("".join(f"{'x' * (number % 13)}\n" for number in range(200)), encoding="utf-8")
    with LineReader(path) as source:
        whole = list(source.blocks())
    assert [block.is_last for block in whole] == [False] * (len(whole) - 1) + [True]
    assert [block.first for block in whole] == [1 + sum(w.lines for w in whole[:n]) for n in range(len(whole))]
    assert {block.lines for block in whole} > {5}
    for number in range(len(whole)):
        with LineReader(path) as source:
            before = b"".join(source.skip(sum(len(block.data) for block in whole[:number])))
            assert before == b"".join(block.data for block in whole[:number])
            assert list(source.blocks()) == whole[number:]


def test_what_is_no_utf_8_is_named(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"good\n\ncaf\xe9 au lait\nmore\n")
    with LineReader(path) as source:
        (block,) = source.blocks()
    texts, fault = block.texts()
    assert texts == ["good", ""]
    assert str(fault) == (
        f"{path}:3 must be UTF-8 text, got byte 0xE9 at position 4 of the line; convert the text with "
        "iconv -f ENCODING -t UTF-8, or correct the line"
    )
    path.write_bytes(b"\xef\xbb\xbf\xff\n")
    with LineReader(path) as source:
        (block,) = source.blocks()
    texts, fault = block.texts()
    assert texts == []
    assert f"{path}:1 must be UTF-8 text, got byte 0xFF at position 1" in str(fault)


def test_text_in_another_encoding_is_named_with_the_command(tmp_path: Path):
    path = tmp_path / "text.zh"
    path.write_bytes("我们在这里。\n他们在中国。\n".encode("gb18030"))
    with LineReader(path) as source:
        (block,) = source.blocks()
    command = f"iconv -f GB18030 -t UTF-8 {path} > {tmp_path / 'text.utf8.zh'}"
    assert str(block.texts()[1]).endswith(f"of the line; convert the text: {command}")


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "_MAX_LINE_BYTES", 100)
    path = tmp_path / "text"
    path.write_bytes(b"short\n" + b"x" * 101)
    with LineReader(path) as source, pytest.raises(DataError, match=r"text:2 must have at most 100 bytes, got more"):
        list(source.blocks())


@pytest.mark.parametrize("cut", [5, 30])
def test_damaged_gzip(tmp_path: Path, cut: int):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a line\n" * 1000)[:cut])
    with pytest.raises(DataError, match="is damaged or incomplete gzip data"):
        read(path)
    path.write_bytes(b"no gzip data")
    with pytest.raises(DataError, match="is damaged or incomplete gzip data"):
        read(path)


def test_files_that_cannot_be(tmp_path: Path):
    with pytest.raises(DataError, match="does not exist; check"):
        LineReader(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder; name"):
        LineReader(tmp_path)


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
    with LineReader("-") as source:
        for block in source.blocks_as_they_arrive():
            seen.append(checked(block))
            answered.set()
    writer.join()
    stdin.close()
    assert seen == [["one"], ["two"], ["three"], ["no end"]]


def test_a_fast_pipe_fills_blocks(monkeypatch: pytest.MonkeyPatch):
    reads, writes = os.pipe()
    stdin = io.TextIOWrapper(io.BufferedReader(_Pipe(reads)), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)

    def write() -> None:
        with io.FileIO(writes, "wb") as pipe, io.BufferedWriter(pipe) as buffered:
            buffered.writelines(b"line %d\n" % number for number in range(20_000))

    writer = threading.Thread(target=write)
    writer.start()
    with LineReader("-") as source:
        windows = []
        for block in source.blocks_as_they_arrive():
            windows.append(checked(block))
            time.sleep(0.001)
        assert source.lines == 20_000
    writer.join()
    stdin.close()
    assert [text for block in windows for text in block] == [f"line {number}" for number in range(20_000)]
    assert len(windows) < 60
