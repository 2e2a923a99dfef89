"""Opening a file of a corpus as a stream of plain bytes, whatever it is packed in and wherever it is.

A stream ends where the file ends, or raises: a file that was cut off or damaged never looks like a shorter one.
"""

from __future__ import annotations

import io
import lzma
import stat
import sys
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self, cast, runtime_checkable

import fsspec

from dragoman.data.readers.folders import what_is_in
from dragoman.data.readers.packing import LONGEST_MAGIC, SUFFIXES, UNPACKERS, packing_of
from dragoman.errors import DataError, MissingExtraError

__all__ = [
    "ByteStream",
    "RawFile",
    "STDIN",
    "is_url",
    "open_raw",
    "open_stream",
    "plain_name",
    "stored_size",
    "without_query",
]

STDIN = "-"
"""The name of standard input."""

_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)


@runtime_checkable
class RawFile(Protocol):
    """As much of an open file as is needed here; every file system of fsspec has it."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""

    def close(self) -> None:
        """Close it."""


class _Remote(io.RawIOBase):
    """A file of another file system: whatever its package raises becomes a `DataError`."""

    def __init__(self, name: str, raw: IO[bytes], system: object) -> None:
        self._name = name
        self._raw = raw
        self._system = system  # an archive closes when nobody holds it any more

    def read(self, size: int = -1) -> bytes:
        try:
            return self._raw.read(size)
        except Exception as error:  # every package of fsspec has errors of its own
            raise DataError(
                f"{self._name} must be a file that can be read to its end, got: {_said(error)}; try again, or copy it"
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
            self._packing = packing_of(name, _suffix(name), self._counted.peek(LONGEST_MAGIC))
        except BaseException:
            self.close()
            raise
        self._pieces = UNPACKERS[self._packing](self._counted)

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
        said = "it is cut off" if isinstance(error, EOFError) else _said(error)
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


def without_query(name: str) -> str:
    """A URL up to its query, and up to the archive it is in (``zip://train.en::a.zip``): what a name ending says."""
    return name.partition("::")[0].partition("?")[0].partition("#")[0] if is_url(name) else name


def _suffix(name: str) -> str:
    return Path(without_query(name)).suffix.lower()


def plain_name(name: str) -> str:
    """The name without the suffix of its packing: ``train.tsv.gz`` is a ``train.tsv``."""
    name = without_query(name)
    path, dot, suffix = name.rpartition(".")
    return path if f".{suffix}".lower() in SUFFIXES and dot else name


def open_stream(name: str) -> ByteStream:
    """Open a path, a URL or ``-`` for reading, unpacked if it is gzip, zstd or xz."""
    if name == STDIN:
        return ByteStream("standard input", sys.stdin.buffer, None)
    raw, size = open_raw(name)
    return ByteStream(name, raw, size)


def open_raw(name: str) -> tuple[RawFile, int | None]:
    """Open a path or a URL as it is stored, and say its size where it is known."""
    if is_url(name):
        return _open_url(name)
    try:
        return Path(name).open("rb"), _local_size(name)
    except (OSError, ValueError) as error:
        raise DataError(_refusal(name, error)) from error


def _open_url(name: str) -> tuple[RawFile, int | None]:
    try:
        system, inner = fsspec.url_to_fs(name)
        if system.isdir(inner):
            raise IsADirectoryError(name)
        return _Remote(name, system.open(inner, "rb"), system), system.size(inner)
    except ImportError as error:
        raise MissingExtraError(f"{name} must have a package that reads it, got: {error}") from error
    except Exception as error:  # every package of fsspec has errors of its own
        raise DataError(_refusal(name, error)) from error


def stored_size(name: str) -> int | None:
    """The size of a file as it is stored; None for standard input and pipes, which are not opened."""
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
        system, inner = fsspec.url_to_fs(name)
        return cast("int | None", system.size(inner))
    except Exception as error:  # every package of fsspec has errors of its own
        raise DataError(_refusal(name, error)) from error


def _local_size(name: str) -> int | None:
    status = Path(name).stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _refusal(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        beside = "" if is_url(name) else what_is_in(Path(name).parent)
        return f"{name} must be a file, but there is none of that name{beside}"
    if isinstance(error, IsADirectoryError):
        return f"{name} must be a file, got a folder; name the files in it, or a glob such as {name.rstrip('/')}/*"
    if isinstance(error, PermissionError):
        return f"{name} must be readable, but its permissions forbid it; see chmod"
    return f"{name} must be a file that can be opened, got: {_said(error)}"


def _said(error: BaseException) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
