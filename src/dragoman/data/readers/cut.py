"""Cutting streams of bytes into blocks of whole lines, in the parent process: nothing is decoded here.

A line ends at a line feed and nowhere else. Python's ``splitlines`` also breaks at U+0085, U+2028, form feeds and more,
on one side only, and everything after is paired with the wrong line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.streams import ByteStream
from dragoman.errors import DataError

__all__ = ["Cutter", "MOST_BYTES", "Progress", "line_ends", "line_lengths"]

MOST_BYTES = 1 << 26
"""A block is not filled beyond this, however few lines it has; a single line that is longer cannot be text."""

_LINE_FEED = 10
_FOREIGN_MARKS = {
    b"\xff\xfe\0\0": "UTF-32LE",
    b"\0\0\xfe\xff": "UTF-32BE",
    b"\xff\xfe": "UTF-16LE",
    b"\xfe\xff": "UTF-16BE",
}


class Cutter:
    """The lines of one stream, handed out in blocks."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.line = 1  # of the next line that is handed out
        self._pieces: deque[tuple[bytes, int]] = deque()  # with the number of lines that end in each
        self._bytes = 0
        self._ends = 0
        self._is_finished = False

    def fill(self, rows: int) -> int:
        """Read until there are so many lines, or as many as may be held at once; say how many there are."""
        while not self._is_finished and self._ends < rows and (self._bytes < MOST_BYTES or not self._ends):
            before = self.stream.lines
            piece = self.stream.read()
            if not piece:
                self._finish()
                break
            if not self._bytes and self.line == 1:
                _check_mark(self.stream.name, piece)
            self._add(piece, self.stream.lines - before)
        return min(self._ends, rows)

    def take(self, rows: int) -> bytes:
        """The next so many lines, no more than `fill` said there are; all but the file's last end in a line feed."""
        taken: list[bytes] = []
        wanted = rows
        while wanted:
            piece, ends = self._pieces.popleft()
            if ends >= wanted:
                feeds = line_ends(piece)
                cut = int(feeds[wanted - 1]) + 1 if wanted <= len(feeds) else len(piece)
                if cut < len(piece):
                    self._pieces.appendleft((piece[cut:], ends - wanted))
                piece, ends = piece[:cut], wanted
            taken.append(piece)
            wanted -= ends
        block = b"".join(taken)
        self._bytes -= len(block)
        self._ends -= rows
        self.line += rows
        return block

    def count_rest(self) -> int:
        """How many lines the whole file has; nothing can be taken afterwards."""
        total = self.line - 1
        while rows := self.fill(1 << 30):
            self.take(rows)
            total += rows
        return total

    def _add(self, piece: bytes, ends: int) -> None:
        self._pieces.append((piece, ends))
        self._bytes += len(piece)
        self._ends += ends
        if self._bytes > MOST_BYTES and not self._ends:
            self._check_returns()
            raise DataError(
                f"{self.stream.name}:{self.line} must be a line of text, got more than {MOST_BYTES >> 20} MiB "
                "without a line end; is it a binary file?"
            )

    def _finish(self) -> None:
        self._is_finished = True
        if self._pieces and not self._pieces[-1][0].endswith(b"\n"):  # the last line lacks its line feed
            piece, ends = self._pieces.pop()
            self._pieces.append((piece, ends + 1))
            self._ends += 1
            if not self.stream.lines:
                self._check_returns()

    def _check_returns(self) -> None:
        """Refuse carriage returns that stand for line ends, as they did on old Macs: it would all be one line."""
        returns = sum(piece.count(b"\r") for piece, _ in self._pieces)
        if returns > 1:
            name = self.stream.name
            raise DataError(
                f"{name} must end its lines with line feeds, got {returns:,} carriage returns and no line feed; "
                f"convert it: tr '\\r' '\\n' < {name} > converted (of a packed file, what is in it)"
            )


class Progress:
    """How much of a list of streams has been read, by their stored sizes."""

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self._total = sum(size or 0 for size in sizes) if None not in sizes else 0
        self._done = 0

    def share(self, *streams: ByteStream) -> float:
        """The share that is read when these streams are the ones under way."""
        if not self._total:
            return 0.0
        return min(1.0, (self._done + sum(stream.consumed for stream in streams)) / self._total)

    def finish(self, *streams: ByteStream) -> None:
        """These streams are read to their end."""
        self._done += sum(stream.size or 0 for stream in streams)


def line_ends(block: bytes) -> NDArray[np.int64]:
    """The places of the line feeds in a block."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_FEED)


def line_lengths(block: bytes) -> NDArray[np.int64]:
    """The length of each line of a block in bytes, without its line feed; the last line may lack one."""
    ends = line_ends(block)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    return np.diff(ends, prepend=-1) - 1


def _check_mark(name: str, head: bytes) -> None:
    for mark, encoding in _FOREIGN_MARKS.items():
        if head.startswith(mark):
            raise DataError(
                f"{name} must be UTF-8, got {encoding} (by the byte-order mark at its start); "
                f"convert it: iconv -f {encoding.rstrip('BLE')} -t UTF-8"
            )
