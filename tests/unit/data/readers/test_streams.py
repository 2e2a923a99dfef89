import gzip
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from dragoman.config.corpus import CorpusConfig
from dragoman.data.readers import streams as packing
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.formats.parquet import ParquetReader
from dragoman.data.readers.streams import ByteStream, open_stream, plain_name, stored_size
from dragoman.errors import DataError, MissingExtraError
from dragoman.network_access import network_access

TEXT = b"".join(b"line %d\n" % number for number in range(100_000))  # several tokens
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


class Strange(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system whose package raises errors of its own."""

    protocol = "strange"
    fails_at = ""

    def info(self, path: str, **_: object) -> dict:
        if self.fails_at == "info":
            raise LookupError("no credentials\nat all")
        return {"name": path, "size": 100, "type": "file"}

    def open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        if self.fails_at == "open":
            raise RuntimeError("no credentials")
        return Broken(bytes(100))

    def glob(self, path: str, **_: object) -> list[str]:
        raise RuntimeError("no credentials")


class Broken(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise RuntimeError("no credentials")


@pytest.mark.parametrize("fails_at", ["info", "open", "read"])
def test_whatever_a_file_system_raises_is_told(fails_at: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.data.readers.streams._LOCAL", frozenset({"strange"}))
    fsspec.register_implementation("strange", Strange, clobber=True)
    monkeypatch.setattr(Strange, "fails_at", fails_at)
    with pytest.raises(DataError, match=r"^strange://a\.txt must be .*, got: .*no credentials"):
        read_all(open_stream("strange://a.txt"))
    with pytest.raises(DataError, match=r"^strange://a\.parquet must be .*, got: .*no credentials"):
        list(ParquetReader(["strange://a.parquet"], "de", "en").chunks(10))
    if fails_at == "info":
        with pytest.raises(DataError, match="no credentials at all"):
            stored_size("strange://a.txt")
    corpus = CorpusConfig(files=["strange://*.tsv"])
    with pytest.raises(DataError, match="must be a URL that can be listed, got: no credentials"):
        open_corpus(corpus, source="de", target="en", folder=Path())


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("left", [1, 2, 3, 4, 5])
def test_a_file_of_a_few_bytes_is_cut_off(suffix: str, left: int, tmp_path: Path):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACK[suffix](TEXT)[:left])
    with pytest.raises(DataError, match=r"is truncated: its .* data is not complete; copy or download it again"):
        open_stream(str(path))
    path.write_bytes(b"x\n")
    with pytest.raises(DataError, match="rename it"):
        open_stream(str(path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch):
    given = io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT)))
    monkeypatch.setattr(sys, "stdin", given)
    stream = open_stream("-")
    assert (stream.name, stream.size, stored_size("-")) == ("standard input", None, None)
    assert read_all(stream) == TEXT
    assert not given.buffer.closed


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").touch()

    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match="must be readable, but its permissions forbid it"):
        open_stream(str(tmp_path / "a"))


def test_a_missing_file_is_told_with_its_neighbours(tmp_path: Path):
    (tmp_path / "train.de").touch()
    with pytest.raises(DataError, match=r"there is none of that name; did you mean .*train\.de\?"):
        open_stream(str(tmp_path / "tarin.de"))
    with pytest.raises(DataError, match=r"there is none of that name; .* holds train\.de"):
        open_stream(str(tmp_path / "corpus.de"))
    with pytest.raises(DataError, match="no folder"):
        open_stream(str(tmp_path / "none" / "train.de"))


def test_plain_names():
    assert [plain_name(name) for name in ("a.tsv.GZ", "a.tsv", "gz", ".zst")] == ["a.tsv", "a.tsv", "gz", ""]
    assert plain_name("http://host/a.tsv.gz?download=1") == "http://host/a.tsv"
    assert plain_name("what?.tsv") == "what?.tsv"


def test_a_read_error_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 10:
                raise OSError("disk on fire")
            return super().read(size)

    monkeypatch.setattr(packing, "_BLOCK", 8)
    with pytest.raises(DataError, match=r"after line 5 .*disk on fire"):
        read_all(ByteStream("a", Failing(b"ab\nab\n" * 100), None))


def test_a_file_inside_an_archive_can_be_read(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("train.en", "one\ntwo\n" * 100_000)
    with open_stream(f"zip://train.en::{tmp_path}/t.zip") as stream:
        text = b"".join(iter(stream.read, b""))
    assert text == b"one\ntwo\n" * 100_000


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch):
    def refuse(url: str) -> None:
        raise ImportError("HTTPFileSystem requires aiohttp to be installed")

    monkeypatch.setattr(fsspec, "url_to_fs", refuse)
    said = "must have a package that reads it, got: HTTPFileSystem requires aiohttp"
    with network_access(True), pytest.raises(MissingExtraError, match=said):
        open_stream("http://x.org/train.en")


@pytest.mark.skipif(sys.platform == "win32", reason="no devices and named pipes")
def test_devices_and_pipes_are_refused_at_once(tmp_path: Path):
    """A corpus is hashed, then read: a pipe would be empty the second time."""
    with pytest.raises(DataError, match="/dev/zero is a device; copy"):
        open_stream("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert stored_size(str(pipe)) is None  # would hang if it opened the pipe
    with pytest.raises(DataError, match=r"pipe is a pipe, and a corpus is read more than once; write its output to a"):
        open_stream(str(pipe))
