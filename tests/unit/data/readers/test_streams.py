import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from dragoman.data.readers import streams
from dragoman.data.readers.streams import ByteStream, open_stream, plain_name, stored_size
from dragoman.errors import DataError

TEXT = b"".join(b"line %d\n" % number for number in range(100_000))  # several pieces
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, 1),
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def read_all(stream: ByteStream) -> bytes:
    with stream:
        return b"".join(iter(stream.read, b""))


@pytest.mark.parametrize("suffix", PACK)
def test_a_file_is_unpacked_by_its_suffix(suffix: str, tmp_path: Path):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](TEXT))
    stream = open_stream(str(path))
    assert read_all(stream) == TEXT
    assert stream.consumed == stream.size == stored_size(str(path)) == path.stat().st_size
    assert (stream.lines, stream.bytes) == (100_000, len(TEXT))


@pytest.mark.parametrize("suffix", PACK)
def test_a_file_is_unpacked_by_its_first_bytes(suffix: str, tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(PACK[suffix](TEXT))
    assert read_all(open_stream(str(path))) == TEXT


@pytest.mark.parametrize("suffix", PACK)
def test_packed_files_may_be_joined(suffix: str, tmp_path: Path):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACK[suffix](b"one\n") + PACK[suffix](b"two\n") + PACK[suffix](TEXT))
    assert read_all(open_stream(str(path))) == b"one\ntwo\n" + TEXT


def test_xz_streams_may_be_padded(tmp_path: Path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(8) + lzma.compress(b"two\n") + bytes(4))
    assert read_all(open_stream(str(path))) == b"one\ntwo\n"


def test_a_zstd_file_may_begin_with_a_frame_of_notes(tmp_path: Path):
    path = tmp_path / "a.zst"
    path.write_bytes(b"\x50\x2a\x4d\x18\x02\0\0\0ab" + PACK[".zst"](TEXT))
    assert read_all(open_stream(str(path))) == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("lost", [1, 4, 9, 300])
def test_a_file_that_was_cut_off_never_looks_like_a_shorter_one(suffix: str, lost: int, tmp_path: Path):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACK[suffix](TEXT)[:-lost])
    with pytest.raises(DataError, match=r"got damage after line [\d,]+ \(byte [\d,]+ of its text\)"):
        read_all(open_stream(str(path)))


def test_a_url_is_opened_by_fsspec():
    with fsspec.open("memory://folder/a.txt.gz", "wb") as file:
        file.write(gzip.compress(TEXT))
    stream = open_stream("memory://folder/a.txt.gz")
    assert stream.size is not None
    assert read_all(stream) == TEXT


@pytest.mark.parametrize(
    ("url", "said"), [("memory://folder/none", "none of that name"), ("memory://folder", "folder")]
)
def test_a_url_that_is_no_file_is_refused(url: str, said: str):
    with fsspec.open("memory://folder/b.txt", "wb") as file:
        file.write(b"x")
    with pytest.raises(DataError, match=said):
        open_stream(url)


def test_standard_input(monkeypatch: pytest.MonkeyPatch):
    given = io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT)))
    monkeypatch.setattr(sys, "stdin", given)
    stream = open_stream("-")
    assert (stream.name, stream.size, stored_size("-")) == ("standard input", None, None)
    assert read_all(stream) == TEXT
    assert not given.buffer.closed


def test_a_pipe_is_read_once(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    assert stored_size(str(path)) is None  # would hang if it opened the pipe
    assert read_all(open_stream(str(path))) == TEXT
    writer.join()


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match="must be readable, but its permissions forbid it"):
        open_stream(str(tmp_path / "a"))


def test_a_missing_file_is_told_with_its_neighbours(tmp_path: Path):
    (tmp_path / "train.de").touch()
    with pytest.raises(DataError, match=r"there is none of that name; .* holds train\.de"):
        open_stream(str(tmp_path / "tarin.de"))
    with pytest.raises(DataError, match="no folder"):
        open_stream(str(tmp_path / "none" / "train.de"))


def test_plain_names():
    assert [plain_name(name) for name in ("a.tsv.GZ", "a.tsv", "gz", ".zst")] == ["a.tsv", "a.tsv", "gz", ""]


def test_a_read_error_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 10:
                raise OSError("disk on fire")
            return super().read(size)

    monkeypatch.setattr(streams, "_BLOCK", 8)
    with pytest.raises(DataError, match=r"after line 5 .*disk on fire"):
        read_all(ByteStream("a", Failing(b"ab\nab\n" * 100), None))
