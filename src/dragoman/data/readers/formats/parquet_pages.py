"""Read the sizes of the pages of a Parquet column from their headers.

pyarrow allocates what the header of a page states; the sizes in the metadata of the file may be wrong. Page headers are
structs of Thrift's compact protocol.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dragoman.data.readers.streams import RawFile

_MAX_HEADER = 16 << 20  # bytes, as in pyarrow: a header may contain statistics
_FIRST_READ = 4096
_MAX_DEPTH = 16
_UNCOMPRESSED, _COMPRESSED = 2, 3  # field numbers of a page header
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class PageSize(NamedTuple):
    """Bytes of a page in memory and in the file."""

    uncompressed: int
    compressed: int


def page_sizes(raw: RawFile, start: int, length: int) -> Iterator[PageSize]:
    """Yield the sizes of all pages of a column; raises `ValueError` for a damaged header."""
    end = start + length
    while start < end:
        size, header = _read_header(raw, start)
        yield size
        start += header + size.compressed


def _read_header(raw: RawFile, start: int) -> tuple[PageSize, int]:
    """Return the sizes of a page, and the length of its header."""
    wanted = _FIRST_READ
    while True:
        raw.seek(start)
        data = raw.read(wanted)
        try:
            return _parse_header(data)
        except IndexError:
            if len(data) < wanted or wanted >= _MAX_HEADER:
                raise ValueError("a page header without an end") from None
            wanted *= 16


def _parse_header(data: bytes) -> tuple[PageSize, int]:
    reader = _Compact(data)
    found: dict[int, int] = {}
    field = 0
    while (kind := reader.byte()) & 0x0F:
        field = field + (kind >> 4) if kind >> 4 else reader.integer()
        if kind & 0x0F == _I32:
            found[field] = reader.integer()
        else:
            reader.skip(kind & 0x0F)
    size = PageSize(found.get(_UNCOMPRESSED, -1), found.get(_COMPRESSED, -1))
    if min(size) < 0:
        raise ValueError("a page header without sizes")
    return size, reader.at


class _Compact:
    """A position in bytes of Thrift's compact protocol; raises `IndexError` at their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("a page header with a number of too many bytes")

    def integer(self) -> int:
        """Read a number in zigzag encoding."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError("a page header that is nested too deep")
        if kind in (_I16, _I32, _I64):
            self.varint()
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            self._move(1 if kind == _BYTE else 8 if kind == _DOUBLE else self.varint())
        elif kind in (_LIST, _SET):
            head = self.byte()
            self._skip_items((head & 0x0F,), head >> 4 if head >> 4 < 15 else self.varint(), depth)
        elif kind == _MAP:
            count = self.varint()
            kinds = self.byte() if count else 0
            self._skip_items((kinds >> 4, kinds & 0x0F), count, depth)
        elif kind == _STRUCT:
            while (head := self.byte()) & 0x0F:
                if not head >> 4:
                    self.varint()
                self.skip(head & 0x0F, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError("a page header with an unknown type")

    def _skip_items(self, kinds: tuple[int, ...], count: int, depth: int) -> None:
        for _ in range(count):
            for kind in kinds:
                self.skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _move(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError
