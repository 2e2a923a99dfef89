"""Hash keys of sentence pairs, in files, to find duplicates and pairs that occur in held-out sets.

128-bit XXH3 is a published, frozen function: keys, and the choice of held-out pairs, are the same on every machine and
in every version. A pair's key is the hash of the keys of its sides, so the boundary of the sides matters.

In a key file, part `p` contains all keys that begin with byte `p`. Equal keys of a corpus are found by reading the same
part of all chunks, 1/256 of the corpus, at a time.

Layout, little-endian: magic, rows, record size, number of kinds; the names of the kinds, 16 bytes each; per kind 257
offsets (in records); per kind its records, packed: the key's high word, its low word (not in narrow records), the row.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from dragoman.data.duplicates.text_folding import fold_texts
from dragoman.errors import DataError
from dragoman.files import atomic_write

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

KeyKind = Literal["pair", "source", "target", "folded_source", "folded_target", "folded_pair"]
"""The hashed part of a pair. Folded sides are without case, white space and punctuation."""

KINDS: tuple[KeyKind, ...] = get_args(KeyKind)
"""Every kind of key."""

_BLOCK = 1024  # rows folded at once: they fit the processor's cache

_Digests = NDArray[np.uint8]  # [rows, 16]


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
    return DataError(f"{path} is no complete key file; prepare the data in another folder, set data.folder")


def write_keys(frame: pl.DataFrame, path: Path, kinds: Iterable[KeyKind]) -> None:
    """Write the keys of a chunk's pairs (columns source and target) to a file."""
    write_key_file(path, frame_keys(frame, kinds))


def frame_keys(frame: pl.DataFrame, kinds: Iterable[KeyKind]) -> dict[str, Records]:
    """Return the keys of a frame's pairs, in row order."""
    sides = _Sides(frame)
    return {kind: _records(sides.digests(kind)) for kind in kinds}


class _Sides:
    """Digests of a frame; each side is hashed once for all kinds."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def digests(self, kind: KeyKind) -> _Digests:
        by_kind: dict[KeyKind, Callable[[], _Digests]] = {
            "pair": lambda: _joint(self.source, self.target),
            "source": lambda: self.source,
            "target": lambda: self.target,
            "folded_source": lambda: self.folded_source,
            "folded_target": lambda: self.folded_target,
            "folded_pair": lambda: _joint(self.folded_source, self.folded_target),
        }
        return by_kind[kind]()

    @cached_property
    def source(self) -> _Digests:
        return _plain(self._frame["source"])

    @cached_property
    def target(self) -> _Digests:
        return _plain(self._frame["target"])

    @cached_property
    def folded_source(self) -> _Digests:
        return _folded(self._frame["source"])

    @cached_property
    def folded_target(self) -> _Digests:
        return _folded(self._frame["target"])


def _plain(texts: pl.Series) -> _Digests:
    return _digests(texts.cast(pl.Binary).to_list())


def _folded(texts: pl.Series) -> _Digests:
    blocks = [_digests(fold_texts(texts[at : at + _BLOCK]).to_bytes()) for at in range(0, len(texts), _BLOCK)]
    return np.concatenate([_digests([]), *blocks])


def _joint(source: _Digests, target: _Digests) -> _Digests:
    both = np.concatenate([source, target], axis=1).tobytes()
    return _digests([both[at : at + 32] for at in range(0, len(both), 32)])


def _digests(values: list[bytes]) -> _Digests:
    return np.frombuffer(b"".join(map(xxh3_128_digest, values)), dtype=np.uint8).reshape(-1, 16)


def _records(digests: _Digests) -> Records:
    words = digests.view(">u8")  # the canonical form of the hash is big-endian
    records = np.empty(len(words), dtype=WIDE)
    records["high"], records["low"] = words[:, 0], words[:, 1]
    records["row"] = np.arange(len(words), dtype=np.uint32)
    return records
