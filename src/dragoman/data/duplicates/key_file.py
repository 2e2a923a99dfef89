"""Store the sorted hash keys of some sentence pairs in a file, partitioned by the first byte of the key.

Part `p` contains all keys that begin with byte `p`. Equal keys of a corpus are found by reading the same part of all
chunks, 1/256 of the corpus, at a time.

Layout, little-endian: magic, rows, record size, number of kinds; the names of the kinds, 16 bytes each; per kind 257
offsets (in records); per kind its records, packed: the key's high word, its low word (not in narrow records), the row.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DataError
from dragoman.files import atomic_write

__all__ = ["NARROW", "PARTS", "Records", "WIDE", "read_keys", "write_key_file"]

PARTS = 256
"""Number of parts of the keys of a kind."""

WIDE = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u4")])
"""A 128-bit key and its row in the chunk; collisions are negligible among 500 million pairs."""

NARROW = np.dtype([("high", "<u8"), ("row", "<u4")])
"""A 64-bit key and its row, for keys whose matches are verified."""

Records = NDArray[np.void]
"""An array of type `WIDE` or `NARROW`."""

_MAGIC = b"DGMKEYS1"
_HEAD = struct.Struct("<8sIII")
_NAME = 16
_OFFSETS = 4 * (PARTS + 1)


def write_key_file(path: Path, kinds: Mapping[str, Records]) -> None:
    """Write the keys of a chunk atomically."""
    with atomic_write(path) as draft, draft.open("wb") as file:
        first = next(iter(kinds.values()))
        file.write(_HEAD.pack(_MAGIC, len(first), first.dtype.itemsize, len(kinds)))
        file.write(b"".join(name.encode("ascii").ljust(_NAME, b"\0") for name in kinds))
        for records in kinds.values():
            counts = np.bincount((records["high"] >> np.uint64(56)).astype(np.intp), minlength=PARTS)
            file.write(np.concatenate([[0], np.cumsum(counts)]).astype("<u4").tobytes())
        for records in kinds.values():
            file.write(records[np.argsort(records["high"], kind="stable")].tobytes())


def read_keys(path: Path, kind: str, first: int = 0, last: int = PARTS) -> Records:
    """Read the keys of one kind whose first byte is at least `first` and below `last`; equal keys in row order."""
    with path.open("rb") as file:
        rows, size, names = _head(file, path)
        if kind not in names:
            raise DataError(f"{path} must hold keys of kind {kind}, got {', '.join(names)}; prepare the data again")
        place = names.index(kind)
        start = _HEAD.size + _NAME * len(names)
        file.seek(start + _OFFSETS * place)
        offsets = np.frombuffer(file.read(_OFFSETS), dtype="<u4")
        begin, end = int(offsets[first]), int(offsets[last])
        file.seek(start + _OFFSETS * len(names) + size * (rows * place + begin))
        data = file.read(size * (end - begin))
    if len(data) != size * (end - begin):
        raise _incomplete(path)
    return np.frombuffer(data, dtype=WIDE if size == WIDE.itemsize else NARROW)


def _head(file: BinaryIO, path: Path) -> tuple[int, int, list[str]]:
    head = file.read(_HEAD.size)
    if len(head) != _HEAD.size or not head.startswith(_MAGIC):
        raise _incomplete(path)
    _, rows, size, count = _HEAD.unpack(head)
    names = file.read(_NAME * count)
    return rows, size, [names[at : at + _NAME].rstrip(b"\0").decode("ascii") for at in range(0, len(names), _NAME)]


def _incomplete(path: Path) -> DataError:
    return DataError(
        f"{path} must be a complete key file, got other content; prepare the data in another folder, set data.folder"
    )
