"""Opening a file of a corpus as a stream of plain bytes, whatever it is packed in and wherever it is.

A stream ends where the file ends, or raises: a file that was cut off or damaged never looks like a shorter one.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast, runtime_checkable

import fsspec
import pyarrow as pa

from dragoman.errors import DataError

__all__ = ["ByteStream", "RawFile", "STDIN", "is_url", "open_raw", "open_stream", "plain_name", "stored_size"]

STDIN = "-"
"""The name of standard input."""

_BLOCK = 1 << 19  # bytes that are read at a time
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_ZSTD_NOTES = b"\x2a\x4d\x18"  # after a byte 0x50 to 0x5f: a frame without data, which some tools put first
_FOREIGN_SUFFIXES = {".bz2": "bzip2", ".zip": "zip", ".7z": "7-Zip", ".lz4": "lz4", ".rar": "RAR", ".z": "compress"}
_FOREIGN_MAGIC = {b"BZh91AY": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST_MAGIC = 8
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)


@runtime_checkable
class RawFile(Protocol):
    """As much of an open file as is needed here; every file system of fsspec has it."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""

    def close(self) -> None:
        """Close it."""


class _Counted(io.RawIOBase):
    """The bytes of a file as they are stored, counted; its first bytes can be looked at without taking them."""

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
    """The contents of one file, unpacked.

    `name` is how messages call it. `size` is that of the file as it is stored, where it is known, and `consumed` how
    much of it has been read; `lines` and `bytes` count the line ends and bytes that were given out.
    """

    def __init__(self, name: str, raw: RawFile, size: int | None) -> None:
        self.name = name
        self.size = size
        self.lines = 0
        self.bytes = 0
        self._counted = _Counted(raw)
        try:
            self._packing = _packing(name, self._counted.peek(_LONGEST_MAGIC))
        except BaseException:
            self.close()
            raise
        self._pieces = _UNPACKERS[self._packing](self._counted)

    @property
    def consumed(self) -> int:
        """Bytes of the stored file that have been read."""
        return self._counted.count

    def read(self) -> bytes:
        """The next piece, of some hundred kilobytes; nothing at the end of the file."""
        try:
            piece = next(self._pieces, b"")
        except _DAMAGE as error:
            raise DataError(self._damage(error)) from error
        if not piece and not self.bytes:
            raise DataError(f"{self.name} must hold text, got an empty file")
        self.bytes += len(piece)
        self.lines += piece.count(b"\n")
        return piece

    def _damage(self, error: BaseException) -> str:
        what = "a file that can be read" if self._packing == "plain" else f"whole {self._packing} data"
        place = f"after line {self.lines:,} (byte {self.bytes:,} of its text)"
        said = str(error) or type(error).__name__
        return f"{self.name} must be {what}, got damage {place}: {said}; copy or download it again"

    def close(self) -> None:
        """Close the file."""
        self._counted.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def is_url(name: str) -> bool:
    """Whether a name is a URL of any file system that fsspec knows, rather than a path."""
    return "://" in name


def plain_name(name: str) -> str:
    """The name without the suffix of its packing: ``train.tsv.gz`` is a ``train.tsv``."""
    path, dot, suffix = name.rpartition(".")
    return path if f".{suffix}".lower() in _SUFFIXES and dot else name


def open_stream(name: str) -> ByteStream:
    """Open a path, a URL or ``-`` for reading, unpacked if it is gzip, zstd or xz."""
    if name == STDIN:
        return ByteStream("standard input", sys.stdin.buffer, None)
    raw, size = open_raw(name)
    return ByteStream(name, raw, size)


def open_raw(name: str) -> tuple[RawFile, int | None]:
    """Open a path or a URL as it is stored, and say its size where it is known."""
    try:
        if not is_url(name):
            return Path(name).open("rb"), _local_size(name)
        system, inner = fsspec.url_to_fs(name)
        if system.isdir(inner):
            raise IsADirectoryError(name)
        return cast("RawFile", system.open(inner, "rb")), system.size(inner)
    except (OSError, ValueError, ImportError) as error:
        raise DataError(_refusal(name, error)) from error


def stored_size(name: str) -> int | None:
    """The size of a file as it is stored; None for standard input and pipes, which are not opened."""
    if name == STDIN:
        return None
    try:
        if not is_url(name):
            return _local_size(name)
        system, inner = fsspec.url_to_fs(name)
        return cast("int | None", system.size(inner))
    except (OSError, ValueError, ImportError) as error:
        raise DataError(_refusal(name, error)) from error


def _local_size(name: str) -> int | None:
    status = Path(name).stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _refusal(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name} must be a file, but there is none of that name{_neighbours(name)}"
    if isinstance(error, IsADirectoryError):
        return f"{name} must be a file, got a folder; name the files in it, or a glob such as {name.rstrip('/')}/*"
    if isinstance(error, PermissionError):
        return f"{name} must be readable, but its permissions forbid it; see chmod"
    return f"{name} must be a file that can be opened, got: {error}"


def _neighbours(name: str) -> str:
    """What there is instead, to see a slip of the keyboard at once."""
    folder = Path(name).parent
    if is_url(name):
        return ""
    if not folder.is_dir():
        return f"; there is no folder {folder} either"
    found = sorted(path.name for path in folder.iterdir())
    return (
        f"; {folder} holds {', '.join(found[:10])}{', …' if len(found) > 10 else ''}"
        if found
        else "; its folder is empty"
    )


def _packing(name: str, head: bytes) -> str:
    suffix = Path(name).suffix.lower()
    foreign = [kind for magic, kind in _FOREIGN_MAGIC.items() if head.startswith(magic)]
    if foreign or suffix in _FOREIGN_SUFFIXES:
        kind = foreign[0] if foreign else _FOREIGN_SUFFIXES[suffix]
        raise DataError(f"{name} must be plain text, gzip, zstd or xz, got {kind}; unpack it first")
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
    if head[1:4] == _ZSTD_NOTES and head[0] >> 4 == 5:
        found = "zstd"
    promised = _SUFFIXES.get(suffix, found)
    if promised != found and head:
        raise DataError(f"{name} must be {promised} data by its name, got {found} data; rename it or copy it again")
    return found


def _plain(raw: _Counted) -> Iterator[bytes]:
    while piece := raw.read(_BLOCK):
        yield piece


def _gzip(raw: _Counted) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=raw) as unpacked:  # compares checksum and length at the end of each member
        while piece := unpacked.read(_BLOCK):
            yield piece


def _zstd(raw: _Counted) -> Iterator[bytes]:
    # Arrow's stream raises when a frame is cut off; the one of the zstandard package just ends.
    with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as unpacked:
        while piece := unpacked.read(_BLOCK):
            yield piece


def _xz(raw: _Counted) -> Iterator[bytes]:
    # lzma.LZMAFile overlooks whatever follows the last stream, so the streams are walked here.
    packed = raw.read(_BLOCK)
    while packed:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = raw.read(_BLOCK)
                if not packed:
                    raise EOFError("it ends within a stream")
            if piece := unpacker.decompress(packed, _BLOCK):
                yield piece
            packed = b""
        packed = unpacker.unused_data.lstrip(b"\0")  # streams may be padded
        while not packed and (more := raw.read(_BLOCK)):
            packed = more.lstrip(b"\0")


_UNPACKERS: dict[str, Callable[[_Counted], Iterator[bytes]]] = {
    "plain": _plain,
    "gzip": _gzip,
    "zstd": _zstd,
    "xz": _xz,
}
