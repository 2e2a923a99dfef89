"""Streams of uncompressed bytes of local, remote and compressed files; a truncated file is an error, never shorter."""

import gzip
import io
import lzma
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self, cast

import fsspec
import pyarrow as pa

from dragoman.errors import DataError, DragomanError, MissingExtraError
from dragoman.files import similar_path
from dragoman.network_access import check_online, is_network_allowed

# A configuration may come from another author. Some protocols of fsspec run code that a file contains (``reference``)
# or commands (``git``), write files (``filecache``) or open sockets. So only these are accepted.
_LOCAL = frozenset({"file", "local", "memory", "tar", "zip"})
_NETWORK = frozenset(
    {"abfs", "abfss", "az", "ftp", "gcs", "gs", "hf", "http", "https", "oci", "oss", "r2", "s3", "s3a", "sftp", "ssh"}
)
_PROTOCOL_ALONE = re.compile(r"[a-z]+")  # fsspec reads such a part of a chain as a protocol


def open_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, whose protocols are accepted and allowed, and the path in it."""
    for part in url.split("::"):
        _check_protocol(url, part)
    try:
        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"{url} must have a package that reads it, got: {error}") from error
    return system, path


def _check_protocol(url: str, part: str) -> None:
    protocol, separator, _ = part.partition("://")
    if not separator and not _PROTOCOL_ALONE.fullmatch(part):
        return  # a path
    if protocol in _LOCAL:
        return
    if protocol not in _NETWORK:
        listed = ", ".join(sorted(_LOCAL - {"local", "memory"}) + sorted(_NETWORK))
        raise DataError(
            f"{url} must have one of the protocols {listed}, got {protocol!r}; copy the file and name its path"
        )
    check_online(url)
    if not is_network_allowed():
        raise DataError(
            f"{url} must be a local file unless the network is allowed, got the protocol {protocol!r}; add "
            "--allow-network (allow_network=True in Python), or copy the file"
        )


LONGEST_MAGIC = 8
"""Number of bytes needed to detect the compression of a file."""

SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz"}
"""Suffixes of compressed files."""

_BLOCK = 1 << 19  # bytes per read
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_ZSTD_NOTES = b"\x2a\x4d\x18"  # after a byte 0x50 to 0x5f: a skippable frame, which some tools write first
_FOREIGN_SUFFIXES = {".bz2": "bzip2", ".zip": "zip", ".7z": "7-Zip", ".lz4": "lz4", ".rar": "RAR", ".z": "compress"}
_FOREIGN_MAGIC = {b"BZh91AY": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "lz4"}


def detect_compression(name: str, suffix: str, head: bytes) -> str:
    """Return the compression of a file by its first bytes; `DataError` if its suffix differs or it is unsupported."""
    foreign = [kind for magic, kind in _FOREIGN_MAGIC.items() if head.startswith(magic)]
    if foreign or suffix in _FOREIGN_SUFFIXES:
        kind = foreign[0] if foreign else _FOREIGN_SUFFIXES[suffix]
        raise DataError(f"{name} must be plain text, gzip, zstd or xz, got {kind}; unpack it first")
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
    if head[1:4] == _ZSTD_NOTES and head[0] >> 4 == 5:
        found = "zstd"
    promised = SUFFIXES.get(suffix, found)
    begun = [kind for magic, kind in _MAGIC.items() if head.startswith(magic) or (head and magic.startswith(head))]
    if len(head) < LONGEST_MAGIC and promised in begun:  # a complete compressed file is longer
        raise DataError(f"{name} is truncated: its {promised} data is not complete; copy or download it again")
    if promised != found and head:
        raise DataError(f"{name} must be {promised} data by its name, got {found} data; rename it or copy it again")
    return found


def _plain(raw: io.RawIOBase) -> Iterator[bytes]:
    while block := raw.read(_BLOCK):
        yield block


def _gzip(raw: io.RawIOBase) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=raw) as unpacked:  # verifies checksum and length of each member
        while block := unpacked.read(_BLOCK):
            yield block


def _zstd(raw: io.RawIOBase) -> Iterator[bytes]:
    # Arrow raises an error on a truncated frame; the zstandard package just ends.
    with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as unpacked:
        while block := unpacked.read(_BLOCK):
            yield block


def _xz(raw: io.RawIOBase) -> Iterator[bytes]:
    # lzma.LZMAFile ignores data after the last stream, so the streams are read one by one.
    packed = raw.read(_BLOCK)
    while packed:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = raw.read(_BLOCK)
                if not packed:
                    raise EOFError("it ends within a stream")
            if block := unpacker.decompress(packed, _BLOCK):
                yield block
            packed = b""
        packed = unpacker.unused_data.lstrip(b"\0")  # streams may be padded
        while not packed and (more := raw.read(_BLOCK)):
            packed = more.lstrip(b"\0")


DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], Iterator[bytes]]] = {
    "plain": _plain,
    "gzip": _gzip,
    "zstd": _zstd,
    "xz": _xz,
}
"""Decompression function of each kind."""


STDIN = "-"
"""The name of standard input."""

_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)


RawFile = IO[bytes] | io.RawIOBase
"""An open file; those of fsspec have the methods that are used here."""


class _Remote(io.RawIOBase):
    """A remote file; all errors of its fsspec backend become `DataError`."""

    def __init__(self, name: str, raw: IO[bytes], system: object) -> None:
        self._name = name
        self._raw = raw
        self._system = system  # an archive closes when it is no longer referenced

    def read(self, size: int = -1) -> bytes:
        try:
            return self._raw.read(size)
        except Exception as error:  # each fsspec backend has its own errors
            raise DataError(
                f"{self._name} must be a file that can be read to its end, got: {_one_line(error)}; retry, or copy it"
            ) from error

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Counted(io.RawIOBase):
    """Count the stored bytes read from a file; its first bytes can be read ahead."""

    def __init__(self, raw: RawFile) -> None:
        self._raw = raw
        self._head = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        while len(self._head) < size and (more := self._raw.read(size - len(self._head))):
            self._head += more
        return self._head

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        head = self._head if size < 0 else self._head[:size]
        self._head = self._head[len(head) :]
        data = head + self._raw.read(size - len(head) if size >= 0 else size)
        self.count += len(data)
        return data

    def close(self) -> None:
        if not self.closed and self._raw is not sys.stdin.buffer:
            self._raw.close()
        super().close()


class ByteStream:
    """The decompressed contents of a file; `consumed` counts stored bytes, `lines` and `bytes` those returned."""

    def __init__(self, name: str, raw: RawFile, size: int | None) -> None:
        self.name = name
        self.size = size
        self.lines = 0
        self.bytes = 0
        self._counted = _Counted(raw)
        try:
            self._packing = detect_compression(name, _suffix(name), self._counted.peek(LONGEST_MAGIC))
        except BaseException:
            self.close()
            raise
        self._blocks = DECOMPRESSORS[self._packing](self._counted)

    @property
    def consumed(self) -> int:
        """Number of stored bytes read so far."""
        return self._counted.count

    def read(self) -> bytes:
        """Read the next block of a few hundred kilobytes; empty at the end of the file."""
        try:
            block = next(self._blocks, b"")
        except _DAMAGE as error:
            raise DataError(self._damage(error)) from error
        if not block and not self.bytes:
            raise DataError(f"{self.name} is empty")
        self.bytes += len(block)
        self.lines += block.count(b"\n")
        return block

    def _damage(self, error: BaseException) -> str:
        what = "a file that can be read" if self._packing == "plain" else f"whole {self._packing} data"
        place = f"after line {self.lines:,} (byte {self.bytes:,} of its text)"
        reason = "it is cut off" if isinstance(error, EOFError) else _one_line(error)
        return f"{self.name} must be {what}, got damage {place}: {reason}; copy or download it again"

    def close(self) -> None:
        self._counted.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_url(name: str) -> bool:
    """Whether a name is a URL, not a path."""
    return "://" in name


def without_query(name: str) -> str:
    """Return a URL without its query and without the archive that contains it (``zip://train.en::a.zip``)."""
    return name.partition("::")[0].partition("?")[0].partition("#")[0] if is_url(name) else name


def _suffix(name: str) -> str:
    return Path(without_query(name)).suffix.lower()


def plain_name(name: str) -> str:
    """Return the name without the suffix of its compression: ``train.tsv`` for ``train.tsv.gz``."""
    name = without_query(name)
    path, dot, suffix = name.rpartition(".")
    return path if f".{suffix}".lower() in SUFFIXES and dot else name


def open_stream(name: str) -> ByteStream:
    """Open a path, a URL or ``-`` for reading; gzip, zstd and xz are decompressed."""
    if name == STDIN:
        return ByteStream("standard input", sys.stdin.buffer, None)
    raw, size = open_raw(name)
    return ByteStream(name, raw, size)


def open_raw(name: str) -> tuple[RawFile, int | None]:
    """Open a path or a URL without decompression; also return its size, if known."""
    if is_url(name):
        return _open_url(name)
    try:
        return _open_local(name), _local_size(name)
    except (OSError, ValueError) as error:
        raise DataError(_refusal(name, error)) from error


def _open_local(name: str) -> RawFile:
    """Open a file; a device never ends, and a pipe can be read once only: a corpus is hashed, then read."""
    path = Path(name)
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        raise DataError(f"{name} is a pipe, and a corpus is read more than once; write its output to a file")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DataError(f"{name} is a device; copy the part that you need into a file")
    return path.open("rb")


def _open_url(name: str) -> tuple[RawFile, int | None]:
    try:
        system, inner = open_file_system(name)
        if system.isdir(inner):
            raise IsADirectoryError(name)
        return _Remote(name, system.open(inner, "rb"), system), system.size(inner)
    except DragomanError:
        raise
    except Exception as error:  # each fsspec backend has its own errors
        raise DataError(_refusal(name, error)) from error


def stored_size(name: str) -> int | None:
    """Return the stored size of a file; None for standard input and pipes, which are not opened."""
    if name == STDIN:
        return None
    if is_url(name):
        return _url_size(name)
    try:
        return _local_size(name)
    except (OSError, ValueError) as error:
        raise DataError(_refusal(name, error)) from error


def _url_size(name: str) -> int | None:
    try:
        system, inner = open_file_system(name)
        return cast("int | None", system.size(inner))
    except DragomanError:
        raise
    except Exception as error:  # each fsspec backend has its own errors
        raise DataError(_refusal(name, error)) from error


def _local_size(name: str) -> int | None:
    status = Path(name).stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _refusal(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        beside = "" if is_url(name) else describe_folder(Path(name).parent, Path(name).name)
        return f"{name} must be a file, but there is none of that name{beside}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder; name the files in it, or a glob such as {name.rstrip('/')}/*"
    if isinstance(error, PermissionError):
        return f"{name} must be readable, but its permissions forbid it; see chmod"
    return f"{name} must be a file that can be opened, got: {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


_MOST_LISTED = 10


def describe_folder(folder: Path, missing: str = "") -> str:
    """Return a clause with the name most like the `missing` file's, else with the first names of a folder."""
    try:
        if not folder.is_dir():
            return f"; there is no folder {folder}"
        if missing and (near := similar_path(folder / missing)):
            return near
        names = sorted(path.name for path in folder.iterdir())
        return f"; {folder} holds {join_names(names)}"
    except OSError:
        return ""


def join_names(names: Sequence[str]) -> str:
    """Join the first few names."""
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])]) or "nothing"
