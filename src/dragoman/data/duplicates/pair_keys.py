"""Compute hash keys of sentence pairs, to find duplicates and pairs that occur in held-out sets.

128-bit XXH3 is a published, frozen function: keys, and the choice of held-out pairs, are the same on every machine and
in every version. A pair's key is the hash of the keys of its sides, so the boundary of the sides matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from dragoman.data.duplicates.key_file import WIDE, Records, write_key_file
from dragoman.data.duplicates.text_folding import fold_texts

__all__ = ["KINDS", "KeyKind", "frame_keys", "write_keys"]

KeyKind = Literal["pair", "source", "target", "folded_source", "folded_target", "folded_pair"]
"""The hashed part of a pair. Folded sides are without case, white space and punctuation."""

KINDS: tuple[KeyKind, ...] = get_args(KeyKind)
"""Every kind of key."""

_BLOCK = 1024  # rows folded at once: they fit the processor's cache

_Digests = NDArray[np.uint8]  # [rows, 16]


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
