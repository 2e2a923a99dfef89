"""Read lines from files and standard input in blocks of limited size (lines and bytes).

Only a line feed ends a line. The ends of blocks depend on the text alone, so a file that is read again from the end of
any block gives the same blocks; only input from a pipe may be read as it arrives.
"""

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
from typing import IO, Self

from dragoman.errors import DataError
from dragoman.text.encoding_guess import conversion_command, foreign_encoding

STDIN = "-"
"""Path of standard input."""

_STDIN_NAME = "standard input"

_LINES = 2048  # per block: enough to sort by length; half of it would cost 3 % more padding
_BYTES = 1 << 19  # per block, plus the rest of its last line
_MAX_LINE_BYTES = 1 << 20
_PIPE_TIMEOUT = 0.005  # seconds: short writes to a pipe become one block
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class LineBlock:
    """Complete lines as bytes. `first` is the number of the first line, from 1; `is_last`: the input ends here.

    `consumed` is the number of stored bytes that were read up to here.
    """

    name: str
    data: bytes
    lines: int
    first: int
    is_last: bool
    consumed: int = 0

    def texts(self) -> tuple[list[str], DataError | None]:
        """Decode the lines up to the first that is not UTF-8, and return its error, if there is one."""
        data = self.data.removeprefix(_BYTE_ORDER_MARK) if self.first == 1 else self.data
        try:
            return _split(data.decode("utf-8")), None
        except UnicodeDecodeError as error:
            row = data.count(b"\n", 0, error.start)
            begin = data.rfind(b"\n", 0, error.start) + 1
            place = f"{self.name}:{self.first + row}"
            encoding = foreign_encoding(data.split(b"\n"))
            fix = "convert the text with iconv -f ENCODING -t UTF-8, or correct the line"
            if encoding and self.name != _STDIN_NAME:
                fix = f"convert the text: {conversion_command(self.name, encoding)}"
            fault = DataError(
                f"{place} must be UTF-8 text, got byte 0x{data[error.start]:02X} at position {error.start - begin + 1} "
                f"of the line; {fix}"
            )
            return _split(data[:begin].decode("utf-8")) if begin else [], fault


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


_Readable = IO[bytes] | gzip.GzipFile


class LineReader:
    """Reader of a text file, or of standard input for ``-``; decompresses names that end in .gz. A context manager.

    `name` is used in messages. `size` is the stored size of the file, if known, and `consumed` how many of these bytes
    were read. `lines` is the number of lines returned.
    """

    def __init__(self, path: Path | str) -> None:
        self.name = _STDIN_NAME if str(path) == STDIN else str(path)
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
            file = Path(path).open("rb")  # noqa: SIM115 -- closed with the reader
        except FileNotFoundError:
            raise DataError(
                f"{path} does not exist; check its spelling, or pass a text itself on standard input"
            ) from None
        except IsADirectoryError:
            raise DataError(f"{path} is a folder; name a file in it") from None
        self._note_size(file)
        return file

    def _note_size(self, file: IO[bytes]) -> None:
        try:
            status = os.fstat(file.fileno())
        except OSError:  # standard input was replaced by an object without a descriptor
            return
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._is_packed:
            self._file.close()
        if self._stored is not sys.stdin.buffer:
            self._stored.close()

    @property
    def is_stdin(self) -> bool:
        return self._stored is sys.stdin.buffer

    @property
    def consumed(self) -> int:
        """Number of stored bytes read so far; 0 if the size is not known."""
        return self._stored.tell() if self.size is not None else 0

    def is_at(self, path: Path) -> bool:
        """Whether the reader reads the file at `path`; links are resolved."""
        try:
            return os.path.samestat(os.fstat(self._stored.fileno()), path.stat())
        except OSError:  # standard input was replaced, or the path does not exist
            return False

    def skip(self, length: int) -> Iterator[bytes]:
        """Yield the next `length` bytes, or all that are left, in parts: text that is already translated."""
        while length > 0 and (block := self._read(min(length, _BYTES))):
            length -= len(block)
            self.lines += block.count(b"\n")
            yield block

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def blocks(self) -> Iterator[LineBlock]:
        """Yield blocks whose ends depend on the text alone."""
        return self._cut(self._file, is_all=True)

    def blocks_as_they_arrive(self) -> Iterator[LineBlock]:
        """Yield blocks, and from a pipe complete lines as soon as they arrive."""
        try:
            descriptor = self._stored.fileno()
        except OSError:
            descriptor = -1
        if descriptor < 0 or self._is_packed or self.size is not None:
            yield from self.blocks()
            return
        rest = b""
        while block := self._read_pipe(descriptor):
            rest += block
            end = rest.rfind(b"\n") + 1
            if end:
                complete, rest = rest[:end], rest[end:]
                yield from self._cut(io.BytesIO(complete), is_all=False)
            self._check_length(rest)
        yield from self._cut(io.BytesIO(rest), is_all=True)

    def _read_pipe(self, descriptor: int) -> bytes:
        """Wait for input, and return all that is available."""
        blocks = [os.read(descriptor, _BYTES)]
        size = len(blocks[0])
        while blocks[-1] and size < _BYTES and select.select([descriptor], [], [], _PIPE_TIMEOUT)[0]:
            blocks.append(os.read(descriptor, _BYTES))
            size += len(blocks[-1])
        return b"".join(blocks)

    def _cut(self, file: _Readable, *, is_all: bool) -> Iterator[LineBlock]:
        """Yield blocks of a file; with `is_all` the last one ends the input."""
        ahead = self._line(file, 0)
        while ahead:
            lines: list[bytes] = []
            size = 0
            while ahead and len(lines) < _LINES and size < _BYTES:
                lines.append(ahead)
                size += len(ahead)
                ahead = self._line(file, len(lines))
            first, self.lines = self.lines + 1, self.lines + len(lines)
            yield LineBlock(self.name, b"".join(lines), len(lines), first, is_all and not ahead, self.consumed)

    def _line(self, file: _Readable, ahead: int) -> bytes:
        try:
            line = file.readline(_MAX_LINE_BYTES + 1)
        except _DAMAGE as error:
            raise self._damaged(error) from None
        self._check_length(line, ahead)
        return line

    def _check_length(self, line: bytes, ahead: int = 0) -> None:
        if len(line) > _MAX_LINE_BYTES:
            raise DataError(
                f"{self.name}:{self.lines + ahead + 1} must have at most {_MAX_LINE_BYTES:,} bytes, got more; put one "
                "sentence or paragraph on each line"
            )

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.name} is damaged or incomplete gzip data: {error}; copy or download it again")


def read_lines(path: Path | str) -> list[str]:
    """Return all lines of a text file, decompressed if its name ends in .gz."""
    return list(stream_lines(path))


def stream_lines(path: Path | str) -> Iterator[str]:
    """Yield the lines of a text file, decompressed if its name ends in .gz."""
    if str(path) != STDIN and not Path(path).exists():
        raise DataError(f"{path} does not exist; check the path")
    with LineReader(path) as reader:
        for block in reader.blocks():
            yield from decoded_lines(block)


def decoded_lines(block: LineBlock) -> list[str]:
    """Return the lines of a block; raise its error if a line is not UTF-8."""
    texts, error = block.texts()
    if error is not None:
        raise error
    return texts
