"""Read Parquet corpora: one column for source and target each, or a struct ``translation`` with both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dragoman.config.corpus import OnBadLine
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.decode import DecodedLines, LineFault, decode_lines
from dragoman.data.readers.formats.parquet_pages import PageSize, page_sizes
from dragoman.data.readers.formats.single_file import ChunkBuilder
from dragoman.data.readers.language_columns import find_language_columns
from dragoman.data.readers.streams import RawFile, open_raw, stored_size
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DataError

__all__ = ["ParquetChunk", "ParquetReader"]

_STRUCT = "translation"
_MAX_RATIO = 150  # of compression; text reaches 10 to 20
_SMALL_BYTES = 64 << 20  # a smaller column is accepted at any ratio
_PART_BYTES = 64 << 20  # of text in one chunk


@dataclass(frozen=True)
class ParquetChunk:
    """Some rows: the two columns, as bytes."""

    file: str
    source: pa.LargeBinaryArray
    target: pa.LargeBinaryArray
    first_line: int
    progress: float

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> ChunkPairs:
        """Check both columns; Arrow does not verify that strings are UTF-8."""
        draft = ChunkBuilder(self.file)
        columns = pl.Series(self.source), pl.Series(self.target)
        sides = [decode_lines(column, on_bad_line=on_bad_line, max_line_bytes=max_line_bytes) for column in columns]
        numbers = np.arange(self.first_line, self.first_line + len(self.source), dtype=np.uint32)
        frame = pl.DataFrame({"source": sides[0].texts, "target": sides[1].texts, "line": numbers})
        for row in (frame["source"].is_null() | frame["target"].is_null()).arg_true():
            draft.add_fault(self.first_line + row, _fault(sides, row))
        for side in sides:
            draft.add_replaced((self.first_line + row, detail) for row, detail in side.replaced.items())
        return draft.finish(frame.drop_nulls())


class ParquetReader:
    """Parquet files, one after the other; `columns` are used instead of those named by languages."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[str, str] | None = None) -> None:
        self._files = list(files)
        self._languages = source, target
        self._columns = columns

    def files(self) -> list[str]:
        """The files."""
        return list(self._files)

    def chunks(self, rows: int) -> Iterator[ParquetChunk]:
        """Read the two columns in batches of rows."""
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
        if _STRUCT in names and pa.types.is_struct(schema.field(_only(name, names, _STRUCT)).type):
            within, names = [_STRUCT], [field.name for field in schema.field(_STRUCT).type]
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
        names = [".".join(path) for path in paths]
        with pq.ParquetFile(raw, read_dictionary=names) as file:  # a repeated text is stored once
            _check_compression(name, raw, file.metadata, names)
            for batch in file.iter_batches(batch_size=rows, columns=names):
                for part in _parts(name, batch, paths):
                    seen += len(part)
                    source, target = (_as_bytes(name, part, path) for path in paths)
                    yield (source, target), seen / file.metadata.num_rows
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{name} must be a whole Parquet file, got damage after row {seen:,}: {reason}") from error
    if not seen:
        raise DataError(f"{name} must hold text, got a Parquet file without rows")


def _check_compression(name: str, raw: RawFile, metadata: pq.FileMetaData, columns: Sequence[str]) -> None:
    """Raise `DataError` if a column is much larger than its compressed form: one page of it could fill the memory.

    The metadata may state other sizes than the pages, so the headers of all pages that are read are checked too.
    """
    for group in range(metadata.num_row_groups):
        for number in range(metadata.row_group(group).num_columns):
            column = metadata.row_group(group).column(number)
            sizes = [PageSize(column.total_uncompressed_size, column.total_compressed_size)]
            if column.path_in_schema in columns:
                first = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0)
                sizes += page_sizes(raw, first, column.total_compressed_size)
            for size in sizes:
                if size.uncompressed > max(_SMALL_BYTES, _MAX_RATIO * size.compressed):
                    raise DataError(
                        f"{name} must not expand to more than {_MAX_RATIO} times its size, got {size.uncompressed:,} "
                        f"bytes in column {column.path_in_schema}; check whether it is a decompression bomb"
                    )


def _parts(name: str, batch: pa.RecordBatch, paths: list[list[str]]) -> Iterator[pa.RecordBatch]:
    """Cut a batch into parts of limited size; a file of a few kilobytes can have rows of many megabytes each."""
    sizes = np.zeros(len(batch), np.int64)
    for path in paths:
        column = _column(name, batch, path)
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64()).take(column.indices)
        else:
            lengths = pc.binary_length(column).cast(pa.int64())
        sizes += pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    start, done = 0, 0
    while start < len(batch):
        end = max(start + 1, int(np.searchsorted(ends, done + _PART_BYTES, side="right")))
        yield batch.slice(start, end - start)
        start, done = end, int(ends[end - 1])


def _column(name: str, batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = batch.column(path[0])
    for field in path[1:]:
        column = pc.struct_field(column, field)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise DataError(f"{name}: column {'.'.join(path)} must hold text, got {kind}; set columns")
    return column


def _as_bytes(name: str, batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = _column(name, batch, path)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(kind).cast(pa.large_binary())


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema) or "none"


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
