"""Read Parquet corpora: one column for source and target each, or a struct ``translation`` with both languages.

pyarrow allocates what the header of a page states; the sizes in the metadata of the file may be wrong. So the sizes of
pages are read from their headers, which are structs of Thrift's compact protocol.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.formats.single_file import ChunkBuilder, FileSequence, find_language_columns, list_names
from dragoman.data.readers.lines import DecodedLines, LineFault, decode_lines
from dragoman.data.readers.streams import RawFile, open_raw, stored_size
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DataError

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


_TRANSLATION = "translation"
_MAX_RATIO = 150  # of compression; text reaches 10 to 20
_MAX_ROWS_PER_BYTE = 8  # of the file; repeated rows can take a fraction of a bit each
_MAX_TEXT_RATIO = 200  # of the text of all rows to the file, with repeated texts
_FEW_ROWS, _SMALL_BYTES = 10_000, 16 << 20  # accepted in a file of any size
_PART_BYTES = 64 << 20  # of text in one chunk


@dataclass(frozen=True)
class ParquetChunk:
    """Some rows: the two columns, as bytes."""

    file: str
    source: pa.LargeBinaryArray
    target: pa.LargeBinaryArray
    first_line: int
    progress: float

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        """Check both columns; Arrow does not verify that strings are UTF-8."""
        draft = ChunkBuilder(self.file)
        columns = pl.Series(self.source), pl.Series(self.target)
        sides = [decode_lines(column, max_line_bytes=max_line_bytes) for column in columns]
        numbers = np.arange(self.first_line, self.first_line + len(self.source), dtype=np.uint32)
        frame = pl.DataFrame({"source": sides[0].texts, "target": sides[1].texts, "line": numbers})
        for row in (frame["source"].is_null() | frame["target"].is_null()).arg_true():
            draft.add_fault(self.first_line + row, _fault(sides, row))
        return draft.finish(frame.drop_nulls())


class ParquetReader(FileSequence):
    """Parquet files, one after the other; `columns` are used instead of those named by languages."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[str, str] | None = None) -> None:
        super().__init__(files)
        self._languages = source, target
        self._columns = columns

    def chunks(self, rows: int) -> Iterator[ParquetChunk]:
        sizes = [stored_size(name) or 0 for name in self._files]
        for number, name in enumerate(self._files):
            raw, _ = open_raw(name)
            with closing(raw):
                line = 1
                for batch, share in _batches(name, raw, rows, self._select):
                    progress = (sum(sizes[:number]) + share * sizes[number]) / max(1, sum(sizes))
                    yield ParquetChunk(name, *batch, line, progress)
                    line += len(batch[0])

    def _select(self, name: str, schema: pa.Schema) -> list[list[str]]:
        """Return the paths of the two columns: a name, or the names of a struct and its field."""
        if self._columns:
            if not set(self._columns) <= set(schema.names):
                wanted = " and ".join(self._columns)
                raise DataError(f"{name} must have the columns {wanted}, got {_described(schema)}; set columns")
            return [[_only(name, schema.names, column)] for column in self._columns]
        within, names = [], schema.names
        if _TRANSLATION in names and pa.types.is_struct(schema.field(_only(name, names, _TRANSLATION)).type):
            within, names = [_TRANSLATION], [field.name for field in schema.field(_TRANSLATION).type]
        choice = find_language_columns(tuple(names), self._languages)
        if choice.names is None:
            wanted = " and ".join(self._languages)
            raise DataError(
                f"{name} must have a column for each of the languages {wanted}, got {_described(schema)}: "
                f"{choice.detail}; set columns"
            )
        return [[*within, _only(name, names, column)] for column in choice.names]


def _only(name: str, names: Sequence[str], column: str) -> str:
    times = list(names).count(column)
    if times > 1:
        raise DataError(f"{name} must have one column {column}, got {times} of that name; rename all but one")
    return column


def _batches(
    name: str, raw: RawFile, rows: int, select: Callable[[str, pa.Schema], list[list[str]]]
) -> Iterator[tuple[tuple[pa.Array, pa.Array], float]]:
    """Yield batches of the two columns, and the share of rows read so far."""
    seen = 0
    try:
        with pq.ParquetFile(raw) as file:
            paths = select(name, file.schema_arrow)
            _check_text(name, file.schema_arrow, paths)
        names = [".".join(path) for path in paths]
        with pq.ParquetFile(raw, read_dictionary=names) as file:  # a repeated text is stored once
            size = raw.seek(0, io.SEEK_END)
            _check_rows(name, size, file.metadata)
            _check_compression(name, raw, size, file.metadata, names)
            text = _TextLimit(name, size)
            for batch in file.iter_batches(batch_size=rows, columns=names):
                for part in _parts(batch, paths, text):
                    seen += len(part)
                    source, target = (_as_bytes(part, path) for path in paths)
                    yield (source, target), seen / file.metadata.num_rows
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{name} must be a whole Parquet file, got damage after row {seen:,}: {reason}") from error
    if not seen:
        raise DataError(f"{name} is a Parquet file without rows")


def _check_text(name: str, schema: pa.Schema, paths: list[list[str]]) -> None:
    """Raise `DataError` if a column holds something else than text; a list in one row may be of any length."""
    for path in paths:
        kind = schema.field(path[0]).type
        for field in path[1:]:
            kind = kind.field(field).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            raise DataError(f"{name}: column {'.'.join(path)} must hold text, got {kind}; set columns")


def _check_rows(name: str, size: int, metadata: pq.FileMetaData) -> None:
    """Raise `DataError` if a file has too many rows for its size, before any row is decoded."""
    rows = max(metadata.num_rows, sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)))
    if rows > max(_FEW_ROWS, _MAX_ROWS_PER_BYTE * size):
        raise DataError(
            f"{name} must have at most {_MAX_ROWS_PER_BYTE} rows per byte, got {rows:,} rows in {size:,} bytes; check "
            "whether it is a decompression bomb"
        )


class _TextLimit:
    """Limit of the text in all rows of a file; a text that a dictionary stores once may occur in every row."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size, self._seen = name, size, 0

    def add(self, count: int) -> None:
        self._seen += count
        if self._seen > max(_SMALL_BYTES, _MAX_TEXT_RATIO * self._size):
            raise DataError(
                f"{self._name} must not hold more than {_MAX_TEXT_RATIO:,} times its size of text, got more than "
                f"{self._seen:,} bytes in {self._size:,}; check whether it is a decompression bomb"
            )


def _check_compression(name: str, raw: RawFile, size: int, metadata: pq.FileMetaData, columns: Sequence[str]) -> None:
    """Raise `DataError` if the two columns are much larger than their compressed form, before any page is decoded.

    The metadata may state other sizes than the pages, so the headers of all pages that are read are counted too, each
    once: the stored columns cannot be larger than the file.
    """
    stored = unpacked = 0
    for group in range(metadata.num_row_groups):
        for number in range(metadata.row_group(group).num_columns):
            column = metadata.row_group(group).column(number)
            if column.path_in_schema not in columns:
                continue
            stored += column.total_compressed_size
            if stored > size:
                raise ValueError("columns that are larger than the file")
            first = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0)
            pages = sum(page.uncompressed for page in page_sizes(raw, first, column.total_compressed_size))
            unpacked += max(pages, column.total_uncompressed_size)
            if unpacked > max(_SMALL_BYTES, _MAX_RATIO * size):
                raise DataError(
                    f"{name} must not expand to more than {_MAX_RATIO} times its size, got {unpacked:,} bytes up to "
                    f"column {column.path_in_schema} of row group {group + 1}; check whether it is a decompression bomb"
                )


def _parts(batch: pa.RecordBatch, paths: list[list[str]], text: _TextLimit) -> Iterator[pa.RecordBatch]:
    """Cut a batch into parts of limited size; a file of a few kilobytes can have rows of many megabytes each."""
    sizes = np.zeros(len(batch), np.int64)
    for path in paths:
        column = _column(batch, path)
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64()).take(column.indices)
        else:
            lengths = pc.binary_length(column).cast(pa.int64())
        sizes += pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    text.add(int(ends[-1]) if len(ends) else 0)
    start, done = 0, 0
    while start < len(batch):
        end = max(start + 1, int(np.searchsorted(ends, done + _PART_BYTES, side="right")))
        yield batch.slice(start, end - start)
        start, done = end, int(ends[end - 1])


def _column(batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = batch.column(path[0])
    for field in path[1:]:
        column = pc.struct_field(column, field)
    return column


def _as_bytes(batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = _column(batch, path)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(kind).cast(pa.large_binary())


def _described(schema: pa.Schema) -> str:
    return list_names([f"{field.name} ({field.type})" for field in schema])


def _fault(sides: Sequence[DecodedLines], row: int) -> LineFault:
    """Return why a row is invalid, on one side or both."""
    details = []
    for name, side in zip(SIDES, sides, strict=True):
        if row in side.faults:
            details.append(f"{name}: {side.faults[row].detail}")
        elif side.texts[row] is None:
            details.append(f"{name} is null")
    reason = next((side.faults[row].reason for side in sides if row in side.faults), "null")
    shown = next((side.texts[row] for side in sides if side.texts[row]), "")
    return LineFault(reason, "; ".join(details), shown)
