"""Write and read shards: tokenized pairs in memory-mapped Arrow files with random access, in several directions.

A shard has the columns ``source`` and ``target``, lists of token ids (16 bits each if the vocabulary is small enough).
Files are memory-mapped, and only the pages of requested rows are read. The offsets of a record batch are contiguous, so
lengths are computed without reading tokens. Language tokens are not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dragoman.data.token_pairs import SIDES, Pairs, Sentences
from dragoman.errors import DataError
from dragoman.files import fsync

_FORMAT = b"dragoman shard 1"
_MAX_TOKENS = 2**31 - 1  # of a side in one record batch: Arrow's list offsets are signed 32-bit numbers


class ShardWriter:
    """Write one shard in chunks of pairs, the same bytes for the same chunks; it gets its name when it is complete."""

    def __init__(self, path: Path, vocab_sizes: tuple[int, int]) -> None:
        self.path = path
        self.rows = 0
        self._partial = path.with_name(path.name + ".tmp")
        self._types = tuple(pa.uint16() if size <= 2**16 else pa.uint32() for size in vocab_sizes)
        fields = [pa.field(name, pa.list_(kind), nullable=False) for name, kind in zip(SIDES, self._types, strict=True)]
        self._schema = pa.schema(fields, metadata={b"format": _FORMAT})
        self._sink = pa.OSFile(str(self._partial), "wb")
        self._writer = pa.ipc.new_file(self._sink, self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close() if kind is None else self.discard()

    def append(self, pairs: Pairs) -> None:
        """Add pairs, as one record batch."""
        if not len(pairs):
            return
        columns = [_column(s, t) for s, t in zip((pairs.source, pairs.target), self._types, strict=True)]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self.rows += len(pairs)

    def close(self) -> None:
        """Write everything to disk and rename the file."""
        self._writer.close()
        self._sink.close()
        fsync(self._partial)
        self._partial.replace(self.path)
        fsync(self.path.parent)

    def discard(self) -> None:
        try:
            self._writer.close()
        except OSError:  # for instance, the disk is full
            pass
        finally:
            self._sink.close()
            self._partial.unlink(missing_ok=True)


def _column(sentences: Sentences, kind: pa.DataType) -> pa.Array:
    if len(sentences.ids) > _MAX_TOKENS:
        raise DataError(
            f"a chunk must have less than 2^31 tokens per side, got {len(sentences.ids)}; append fewer pairs at a time"
        )
    offsets = np.zeros(len(sentences) + 1, dtype=np.int32)
    np.cumsum(sentences.lengths, out=offsets[1:])
    assert offsets[-1] == len(sentences.ids), "lengths must add up to the number of tokens"
    values = np.ascontiguousarray(sentences.ids, dtype=str(kind))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, type=kind))


@dataclass(frozen=True)
class _Column:
    """One side of one record batch, in place. Shapes: offsets [rows + 1], values [tokens]."""

    offsets: NDArray[np.int32]
    values: NDArray[np.integer]

    @classmethod
    def of(cls, array: pa.ListArray) -> Self:
        return cls(array.offsets.to_numpy(), array.values.to_numpy())


@dataclass(frozen=True)
class _Index:
    """First row of each record batch, total number of rows, and the columns of each side."""

    starts: NDArray[np.int64]
    columns: tuple[list[_Column], list[_Column]]

    @classmethod
    def of(cls, paths: Sequence[Path], rows: Sequence[int] | None) -> Self:
        batches: list[pa.RecordBatch] = []
        for number, path in enumerate(paths):
            opened = _open(path)
            found = sum(batch.num_rows for batch in opened)
            if rows is not None and found != rows[number]:
                raise DataError(f"{path} must have {rows[number]} pairs, got {found}; run dragoman prepare again")
            batches += opened
        source, target = ([_Column.of(batch.column(side)) for batch in batches] for side in range(2))
        return cls(np.cumsum([0, *(batch.num_rows for batch in batches)]), (source, target))


class Shards:
    """The pairs of several shards, numbered from 0 in the order of the paths, which are all that is pickled."""

    def __init__(self, paths: Sequence[Path], rows: Sequence[int] | None = None) -> None:
        """`rows` are the expected numbers of pairs of the files, from the manifest."""
        self.paths = tuple(paths)
        self._rows = None if rows is None else tuple(rows)
        self._opened: _Index | None = _Index.of(self.paths, self._rows)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_opened": None}

    def __len__(self) -> int:
        return int(self._index.starts[-1])

    @property
    def _index(self) -> _Index:
        if self._opened is None:
            self._opened = _Index.of(self.paths, self._rows)
        return self._opened

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of both sides of each row, without special tokens. Shapes: [n] -> [n, 2]."""
        found, places = self._locate(rows)
        order = np.argsort(found, kind="stable")
        lengths = np.empty((len(rows), 2), dtype=np.int64)
        numbers, firsts = np.unique(found[order], return_index=True)
        for number, (first, end) in zip(numbers.tolist(), pairwise([*firsts, len(rows)]), strict=True):
            group = order[first:end]
            place = places[group]
            for side, columns in enumerate(self._index.columns):
                offsets = columns[number].offsets
                lengths[group, side] = offsets[place + 1] - offsets[place]
        return lengths

    def gather(self, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs of the rows, in that order."""
        found, places = self._locate(rows)
        wanted = list(zip(found.tolist(), places.tolist(), strict=True))
        source, target = (_gather(columns, wanted) for columns in self._index.columns)
        return Pairs(source, target)

    def with_language_tokens(self, pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs: those of one direction need no language tokens."""
        return pairs

    def _locate(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the record batch of each row, and its index there. Shapes: [n] -> [n], [n]."""
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self)):
            raise DataError(f"rows must be from 0 to {len(self) - 1}, got {rows.min()} to {rows.max()}")
        starts = self._index.starts
        found = np.searchsorted(starts, rows, side="right") - 1
        return found, rows - starts[found]


def _gather(columns: list[_Column], wanted: list[tuple[int, int]]) -> Sentences:
    tokens = []
    for number, place in wanted:
        column = columns[number]
        tokens.append(column.values[column.offsets[place] : column.offsets[place + 1]])
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    return Sentences(np.concatenate(tokens) if tokens else np.empty(0, dtype=np.uint16), lengths)


def _open(path: Path) -> list[pa.RecordBatch]:
    """Return the memory-mapped record batches of a shard. The file is closed at once, so that few files are open."""
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            schema = reader.schema
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    except FileNotFoundError:
        raise DataError(f"{path} is missing; run dragoman prepare again") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(
            f"{path}, a shard of prepared pairs, is damaged ({error}); run dragoman prepare again"
        ) from None
    if (schema.metadata or {}).get(b"format") != _FORMAT:
        raise DataError(f"{path} is no shard of prepared pairs; run dragoman prepare again")
    return batches


@dataclass(frozen=True)
class DirectionView:
    """The pairs of a corpus in one direction: their rows in the shards, and the tokens that begin each side."""

    first_row: int
    rows: int
    is_swapped: bool
    source_prefix: tuple[int, ...] = ()
    target_prefix: tuple[int, ...] = ()


class DirectedShards:
    """All views one after the other, numbered from 0, in the direction of each row; `lengths` has language tokens."""

    def __init__(self, shards: Shards, views: Sequence[DirectionView]) -> None:
        self.shards, self.views = shards, tuple(views)
        self._bounds = np.cumsum([0, *(view.rows for view in views)])
        self._first = np.array([view.first_row for view in views], dtype=np.int64)
        self._swapped = np.array([view.is_swapped for view in views], dtype=bool)
        prefixes = [(len(view.source_prefix), len(view.target_prefix)) for view in views]
        self._prefix_lengths = np.array(prefixes, dtype=np.int64).reshape(-1, 2)  # [views, 2]

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of both sides of each row, language tokens included. Shapes: [n] -> [n, 2]."""
        owners, stored = self._stored(rows)
        lengths = self.shards.lengths(stored)
        swapped = self._swapped[owners]
        lengths[swapped] = lengths[swapped][:, ::-1]
        return lengths + self._prefix_lengths[owners]

    def gather(self, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs of the rows, in that order, without language tokens."""
        owners, stored = self._stored(rows)
        pairs = self.shards.gather(stored)
        swapped = self._swapped[owners]
        if not swapped.any():
            return pairs
        sides = list(zip(pairs.source.split(), pairs.target.split(), strict=True))
        ordered = [(other, one) if swap else (one, other) for (one, other), swap in zip(sides, swapped, strict=True)]
        return Pairs(*(_joined([pair[side] for pair in ordered]) for side in range(2)))

    def with_language_tokens(self, pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
        """Return the pairs of the rows with the tokens that begin each side."""
        owners, _ = self._stored(rows)
        views = [self.views[owner] for owner in owners.tolist()]
        return Pairs(
            _begun(pairs.source, [view.source_prefix for view in views]),
            _begun(pairs.target, [view.target_prefix for view in views]),
        )

    def _stored(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the view of each row, and its row in the shards. Shapes: [n] -> [n], [n]."""
        owners = np.searchsorted(self._bounds, rows, side="right") - 1
        return owners, self._first[owners] + rows - self._bounds[owners]


def _joined(sentences: Sequence[NDArray[np.integer]]) -> Sentences:
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return Sentences(np.concatenate(sentences) if sentences else np.empty(0, dtype=np.uint16), lengths)


def _begun(sentences: Sentences, prefixes: Sequence[tuple[int, ...]]) -> Sentences:
    if not any(prefixes):
        return sentences
    parts: list[NDArray[np.integer]] = []
    for prefix, tokens in zip(prefixes, sentences.split(), strict=True):
        parts += [np.array(prefix, dtype=tokens.dtype), tokens]
    lengths = sentences.lengths + np.fromiter(map(len, prefixes), dtype=np.int64, count=len(prefixes))
    return Sentences(np.concatenate(parts), lengths)
