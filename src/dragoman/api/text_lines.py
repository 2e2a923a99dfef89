"""Lines of text from files and pipes, in windows: so much is read at a time, and never more.

Only a line feed ends a line. Where a window ends depends on the text alone, so that a file that is read again, from the
end of any window on, gives the same windows; only what comes through a pipe may be taken as it arrives.
"""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self, runtime_checkable

from dragoman.errors import DataError

__all__ = ["LineSource", "STDIN", "Window"]

STDIN = "-"
"""The name of standard input."""

_ROWS = 2048  # lines of a window: enough to sort by length, few enough to do again after a crash
_BYTES = 1 << 19  # of a window, and what its last line has beyond
_LONGEST = 1 << 20  # bytes of a line
_GRACE = 0.005  # seconds that a pipe is waited for: many short writes become one window, and nobody notices
_MARK = b"\xef\xbb\xbf"
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class Window:
    """Some whole lines, as bytes. `first` is the number of the first line, from 1; after `is_last` nothing follows."""

    name: str
    data: bytes
    rows: int
    first: int
    is_last: bool

    def texts(self) -> tuple[list[str], DataError | None]:
        """The lines up to the first that is not UTF-8, and what is wrong with that one, if there is one."""
        data = self.data.removeprefix(_MARK) if self.first == 1 else self.data
        try:
            return _split(data.decode("utf-8")), None
        except UnicodeDecodeError as error:
            row = data.count(b"\n", 0, error.start)
            begin = data.rfind(b"\n", 0, error.start) + 1
            fault = DataError(
                f"{self.name}:{self.first + row} must be UTF-8 text, got byte 0x{data[error.start]:02X} at place "
                f"{error.start - begin + 1} of the line; convert the text with iconv -t UTF-8, or mend the line"
            )
            return _split(data[:begin].decode("utf-8")) if begin else [], fault


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


@runtime_checkable
class _Readable(Protocol):
    """As much of an open file as is needed here."""

    def read(self, size: int = -1, /) -> bytes: ...
    def readline(self, size: int = -1, /) -> bytes: ...
    def close(self) -> None: ...


class LineSource:
    """A file of lines, or standard input for ``-``; unpacked where its name ends in .gz. Used in a ``with`` statement.

    `name` is how messages call it. `size` is that of the file as it is stored, where that is known, and `consumed` how
    much of it was read. `lines` counts what was given out.
    """

    def __init__(self, path: Path | str) -> None:
        self.name = "standard input" if str(path) == STDIN else str(path)
        self.size: int | None = None
        self.lines = 0
        self._stored = self._open(str(path))
        self._is_packed = self.name.endswith(".gz")
        self._file: _Readable = gzip.GzipFile(fileobj=self._stored) if self._is_packed else self._stored

    def _open(self, path: str) -> IO[bytes]:
        if path == STDIN:
            self._note_size(sys.stdin.buffer)
            return sys.stdin.buffer
        try:
            file = Path(path).open("rb")  # noqa: SIM115 -- closed with the source
        except FileNotFoundError:
            raise DataError(
                f"{path} must be a file, but there is none; text itself is read from standard input"
            ) from None
        except IsADirectoryError:
            raise DataError(f"{path} must be a file of text, got a folder; name a file in it") from None
        self._note_size(file)
        return file

    def _note_size(self, file: IO[bytes]) -> None:
        try:
            status = os.fstat(file.fileno())
        except OSError:  # no file of the system
            return
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._is_packed:
            self._file.close()
        if self._stored is not sys.stdin.buffer:
            self._stored.close()

    @property
    def consumed(self) -> int:
        """Bytes read so far, as they are stored; 0 where that is not known."""
        return self._stored.tell() if self.size is not None else 0

    def is_at(self, path: Path) -> bool:
        """Whether this is what a path leads to, by whatever name or link either was opened."""
        try:
            return os.path.samestat(os.fstat(self._stored.fileno()), path.stat())
        except OSError:  # one of them is no file of the system
            return False

    def blocks(self, length: int) -> Iterator[bytes]:
        """The next so many bytes, or as many as there are, part by part; for what is known already."""
        while length > 0 and (block := self._read(min(length, _BYTES))):
            length -= len(block)
            self.lines += block.count(b"\n")
            yield block

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def windows(self) -> Iterator[Window]:
        """What there is, in windows whose ends depend on the text alone."""
        return self._cut(self._file, is_all=True)

    def windows_as_they_arrive(self) -> Iterator[Window]:
        """What there is, but where it comes slowly, as from a person, whole lines as soon as they are there."""
        try:
            descriptor = self._stored.fileno()
        except OSError:
            descriptor = -1
        if descriptor < 0 or self._is_packed or self.size is not None:
            yield from self.windows()
            return
        rest = b""
        while block := self._arrived(descriptor):
            rest += block
            end = rest.rfind(b"\n") + 1
            if end:
                whole, rest = rest[:end], rest[end:]
                yield from self._cut(io.BytesIO(whole), is_all=False)
            self._check_length(rest)
        yield from self._cut(io.BytesIO(rest), is_all=True)

    def _arrived(self, descriptor: int) -> bytes:
        """Wait until something comes; all of it, if more is there already."""
        blocks = [os.read(descriptor, _BYTES)]
        size = len(blocks[0])
        while blocks[-1] and size < _BYTES and select.select([descriptor], [], [], _GRACE)[0]:
            blocks.append(os.read(descriptor, _BYTES))
            size += len(blocks[-1])
        return b"".join(blocks)

    def _cut(self, file: _Readable, *, is_all: bool) -> Iterator[Window]:
        """Windows of a file. `is_all`: nothing follows its end."""
        ahead = self._line(file, 0)
        while ahead:
            lines: list[bytes] = []
            size = 0
            while ahead and len(lines) < _ROWS and size < _BYTES:
                lines.append(ahead)
                size += len(ahead)
                ahead = self._line(file, len(lines))
            first, self.lines = self.lines + 1, self.lines + len(lines)
            yield Window(self.name, b"".join(lines), len(lines), first, is_all and not ahead)

    def _line(self, file: _Readable, ahead: int) -> bytes:
        try:
            line = file.readline(_LONGEST + 1)
        except _DAMAGE as error:
            raise self._damaged(error) from None
        self._check_length(line, ahead)
        return line

    def _check_length(self, line: bytes, ahead: int = 0) -> None:
        if len(line) > _LONGEST:
            raise DataError(
                f"{self.name}:{self.lines + ahead + 1} must have at most {_LONGEST:,} bytes, got more; is it text, one "
                "sentence or paragraph a line?"
            )

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.name} must be whole gzip data, got damage: {error}; copy or download it again")
