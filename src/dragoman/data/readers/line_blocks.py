"""Split byte streams into blocks of complete lines, without decoding.

Only a line feed ends a line. Python's ``splitlines`` also splits at U+0085, U+2028, form feeds and others; if such a
character occurs on one side only, all following lines would be paired wrongly.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.streams import ByteStream
from dragoman.errors import DataError

MOST_BYTES = 1 << 26
"""Maximum size of a block in bytes; a longer line is not text."""

_LINE_FEED = 10
_FOREIGN_MARKS = {
    b"\xff\xfe\0\0": "UTF-32LE",
    b"\0\0\xfe\xff": "UTF-32BE",
    b"\xff\xfe": "UTF-16LE",
    b"\xfe\xff": "UTF-16BE",
}


class LineBlockReader:
    """Read the lines of one stream in blocks."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.line = 1  # number of the next line
        self._blocks: deque[tuple[bytes, int]] = deque()  # with the number of line feeds in each
        self._bytes = 0
        self._ends = 0
        self._is_finished = False

    def fill(self, rows: int) -> int:
        """Read until `rows` lines or the maximum size are buffered; return the number of lines."""
        while not self._is_finished and self._ends < rows and (self._bytes < MOST_BYTES or not self._ends):
            before = self.stream.lines
            block = self.stream.read()
            if not block:
                self._finish()
                break
            if not self._bytes and self.line == 1:
                _check_mark(self.stream.name, block)
            self._add(block, self.stream.lines - before)
        return min(self._ends, rows)

    def take(self, rows: int) -> bytes:
        """Return the next lines, at most as many as `fill` returned; all but the file's last end in a line feed."""
        taken: list[bytes] = []
        wanted = rows
        while wanted:
            block, ends = self._blocks.popleft()
            if ends >= wanted:
                feeds = line_ends(block)
                cut = int(feeds[wanted - 1]) + 1 if wanted <= len(feeds) else len(block)
                if cut < len(block):
                    self._blocks.appendleft((block[cut:], ends - wanted))
                block, ends = block[:cut], wanted
            taken.append(block)
            wanted -= ends
        block = b"".join(taken)
        self._bytes -= len(block)
        self._ends -= rows
        self.line += rows
        return block

    def count_rest(self) -> int:
        """Read to the end and return the number of lines of the file."""
        total = self.line - 1
        while rows := self.fill(1 << 30):
            self.take(rows)
            total += rows
        return total

    def _add(self, block: bytes, ends: int) -> None:
        self._blocks.append((block, ends))
        self._bytes += len(block)
        self._ends += ends
        if self._bytes > MOST_BYTES and not self._ends:
            self._check_returns()
            raise DataError(
                f"{self.stream.name}:{self.line} must be a line of text, got more than {MOST_BYTES >> 20} MiB "
                "without a line end; is it a binary file?"
            )

    def _finish(self) -> None:
        self._is_finished = True
        if self._blocks and not self._blocks[-1][0].endswith(b"\n"):  # the last line lacks its line feed
            block, ends = self._blocks.pop()
            self._blocks.append((block, ends + 1))
            self._ends += 1
            if not self.stream.lines:
                self._check_returns()

    def _check_returns(self) -> None:
        """Raise `DataError` if lines end in carriage returns only, as on old Macs."""
        returns = sum(block.count(b"\r") for block, _ in self._blocks)
        if returns > 1:
            name = self.stream.name
            raise DataError(
                f"{name} must end its lines with line feeds, got {returns:,} carriage returns and no line feed; "
                f"convert it: tr '\\r' '\\n' < {name} > converted (decompress the file first)"
            )


class ReadProgress:
    """Share of a list of streams read so far, by their stored sizes."""

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self._total = sum(size or 0 for size in sizes) if None not in sizes else 0
        self._done = 0

    def share(self, *streams: ByteStream) -> float:
        """Return the share read so far while these streams are being read."""
        if not self._total:
            return 0.0
        return min(1.0, (self._done + sum(stream.consumed for stream in streams)) / self._total)

    def finish(self, *streams: ByteStream) -> None:
        """Mark these streams as read."""
        self._done += sum(stream.size or 0 for stream in streams)


def line_ends(block: bytes) -> NDArray[np.int64]:
    """Return the positions of line feeds in a block."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_FEED)


def line_lengths(block: bytes) -> NDArray[np.int64]:
    """Return the length of each line in bytes, without its line feed; the last line may lack one."""
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
