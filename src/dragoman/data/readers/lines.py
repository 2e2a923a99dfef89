"""Split byte streams into blocks of complete lines; decode them as strict UTF-8 and report every invalid line.

Only a line feed ends a line. Python's ``splitlines`` also splits at U+0085, U+2028, form feeds and others; if such a
character occurs on one side only, all following lines would be paired wrongly.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dragoman.data.readers.streams import ByteStream
from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DataError
from dragoman.text.encoding_guess import guess_encoding

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


_MARK = b"\xef\xbb\xbf"
_SHOWN = 300  # bytes of a bad line in messages


class LineFault(NamedTuple):
    """Reason, detail and excerpt of an invalid line."""

    reason: str
    detail: str
    shown: str


@dataclass
class DecodedLines:
    """One side of a chunk: a text for each line, null for an invalid line."""

    texts: pl.Series
    faults: dict[int, LineFault] = field(default_factory=dict)


def strip_line_ends(block: bytes, file: str, first_line: int, notes: Tally, *, notes_returns: bool = True) -> bytes:
    """Remove the byte-order mark at the start of a file and carriage returns at the ends of lines."""
    if first_line == 1 and block.startswith(_MARK):
        block = block.removeprefix(_MARK)
        notes.add("byte-order mark removed", 1, [Example(file, 1)])
    if b"\r" not in block:
        return block
    if notes_returns:
        returns = block.count(b"\r\n") + block.endswith(b"\r")
        places = (Example(file, first_line + row) for row in islice(_returns(block), MAX_EXAMPLES))
        notes.add("carriage return removed", returns, places)
    return block.replace(b"\r\n", b"\n").removesuffix(b"\r")


def _returns(block: bytes) -> Iterator[int]:
    """Yield the rows that end in a carriage return."""
    row, done = 0, 0
    while (place := block.find(b"\r\n", done)) >= 0:
        row += block.count(b"\n", done, place)
        yield row
        row, done = row + 1, place + 2
    if block.endswith(b"\r"):
        yield row + block.count(b"\n", done)


def split_lines(block: bytes, rows: int) -> pl.Series:
    """Split a block into lines of bytes."""
    lengths = line_lengths(block) if block or not rows else np.zeros(1, np.int64)
    if len(lengths) != rows:
        raise DataError(f"a block must hold {rows} lines, got {len(lengths)}; this is a bug in the reader")
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block.replace(b"\n", b""))]
    return pl.Series(pa.LargeBinaryArray.from_buffers(pa.large_binary(), rows, buffers))


def decode_lines(lines: pl.Series, *, max_line_bytes: int) -> DecodedLines:
    """Decode lines of bytes (null stays null). Only invalid lines are processed one by one."""
    texts = _to_texts(lines)
    is_suspect = (
        (texts.is_null() & lines.is_not_null())
        | (lines.bin.size() > max_line_bytes).fill_null(False)
        | texts.str.contains("\0", literal=True).fill_null(False)
    )
    decoded = DecodedLines(texts)
    if not is_suspect.any():
        return decoded
    rows = is_suspect.arg_true().to_numpy()
    suspects = lines.gather(rows)
    encoding = guess_encoding(line for line in suspects if len(line) <= max_line_bytes and _text_or_none(line) is None)
    for row, line in zip(rows.tolist(), suspects, strict=True):
        decoded.faults[row] = _fault(line, max_line_bytes, encoding)
    decoded.texts = texts.scatter(rows, None)
    return decoded


def _to_texts(lines: pl.Series) -> pl.Series:
    try:
        return lines.cast(pl.String)  # checks all lines at once, but does not report which are invalid
    except pl.exceptions.ComputeError:
        return pl.Series([_text_or_none(line) for line in lines], dtype=pl.String)


def _text_or_none(line: bytes | None) -> str | None:
    try:
        return None if line is None else line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _fault(line: bytes, max_line_bytes: int, encoding: str = "") -> LineFault:
    """Return what is wrong with a line; `encoding` is the likely one of all lines that are not UTF-8."""
    shown = line[:_SHOWN].decode("utf-8", "replace").replace("\0", "\ufffd")
    if len(line) > max_line_bytes:
        return LineFault("line too long", f"{len(line):,} bytes; max_line_bytes allows {max_line_bytes:,}", shown)
    if (place := line.find(b"\0")) >= 0:
        hint = (
            "; UTF-16 text? convert it: iconv -f UTF-16LE (or UTF-16BE) -t UTF-8"
            if 4 * line.count(b"\0") > len(line)
            else ""
        )
        return LineFault("NUL byte", f"byte {place + 1} of the line{hint}", shown)
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return LineFault(
            "not UTF-8",
            f"byte {error.start + 1} of the line is 0x{line[error.start]:02X}{_hint(line, error.start, encoding)}",
            shown,
        )
    raise AssertionError("the line is valid")


def _hint(line: bytes, place: int, encoding: str) -> str:
    if line[place] == 0xED and line[place + 1 : place + 2] >= b"\xa0":
        return "; half of a surrogate pair (CESU-8)"
    return f"; {encoding} text?" if encoding else ""


def check_text(text: str, max_line_bytes: int) -> LineFault | None:
    """Check a text from escapes or a parser with the rules of `decode_lines`; return what is wrong, or None."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = text[:_SHOWN].encode("utf-8", "replace").decode()
        return LineFault("lone surrogate", f"character {error.start + 1} is \\u{ord(text[error.start]):04x}", shown)
    return _fault(data, max_line_bytes) if len(data) > max_line_bytes or "\0" in text else None


_CLASSES = {
    "line separator inside a line": "\n\r\v\f\x85\u2028\u2029",
    "byte-order mark inside the text": "\ufeff",
    "replacement character already there": "\ufffd",
    "C1 control character": "".join(map(chr, range(0x80, 0xA0))).replace("\x85", ""),
}
_ALL = list("".join(_CLASSES.values()))
_NAMES = {"\n": "line feed", "\r": "carriage return", "\v": "vertical tab", "\f": "form feed"}


def note_suspicious_characters(frame: pl.DataFrame, files: tuple[str, str], notes: Tally) -> None:
    """Note suspicious characters of both sides."""
    for side, file in zip(SIDES, files, strict=True):
        odd = frame.filter(frame[side].str.contains_any(_ALL))  # twice as fast as a regular expression
        if not odd.height:
            continue
        for reason, characters in _CLASSES.items():
            found = odd.filter(odd[side].str.contains(f"[{characters}]"))
            notes.add(reason, found.height, _examples(found, side, file, characters))


def _examples(found: pl.DataFrame, side: str, file: str, characters: str) -> Iterator[Example]:
    for row in islice(found.iter_rows(named=True), MAX_EXAMPLES):
        match = re.search(f"[{characters}]", row[side])
        assert match is not None
        character = match.group()
        name = _NAMES.get(character) or unicodedata.name(character, "control character").lower()
        detail = f"U+{ord(character):04X} ({name}), character {match.start() + 1} of the {side}"
        yield Example(file, row["line"], row["source"], row["target"], detail)
