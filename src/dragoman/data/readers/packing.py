"""How files are packed, and how they are unpacked: to their very end, or with an error."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable, Iterator

import pyarrow as pa

from dragoman.errors import DataError

__all__ = ["LONGEST_MAGIC", "SUFFIXES", "UNPACKERS", "packing_of"]

LONGEST_MAGIC = 8
"""So many bytes tell how a file is packed."""

SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz"}
"""What names of packed files end in."""

_BLOCK = 1 << 19  # bytes that are read at a time
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_ZSTD_NOTES = b"\x2a\x4d\x18"  # after a byte 0x50 to 0x5f: a frame without data, which some tools put first
_FOREIGN_SUFFIXES = {".bz2": "bzip2", ".zip": "zip", ".7z": "7-Zip", ".lz4": "lz4", ".rar": "RAR", ".z": "compress"}
_FOREIGN_MAGIC = {b"BZh91AY": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "lz4"}


def packing_of(name: str, suffix: str, head: bytes) -> str:
    """How a file is packed, by its first bytes; `DataError` if its suffix says otherwise, or if we cannot unpack it."""
    foreign = [kind for magic, kind in _FOREIGN_MAGIC.items() if head.startswith(magic)]
    if foreign or suffix in _FOREIGN_SUFFIXES:
        kind = foreign[0] if foreign else _FOREIGN_SUFFIXES[suffix]
        raise DataError(f"{name} must be plain text, gzip, zstd or xz, got {kind}; unpack it first")
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
    if head[1:4] == _ZSTD_NOTES and head[0] >> 4 == 5:
        found = "zstd"
    promised = SUFFIXES.get(suffix, found)
    begun = [kind for magic, kind in _MAGIC.items() if head.startswith(magic) or (head and magic.startswith(head))]
    if len(head) < LONGEST_MAGIC and promised in begun:  # no packed file is that short
        raise DataError(f"{name} must be whole {promised} data, got one that is cut off; copy or download it again")
    if promised != found and head:
        raise DataError(f"{name} must be {promised} data by its name, got {found} data; rename it or copy it again")
    return found


def _plain(raw: io.RawIOBase) -> Iterator[bytes]:
    while piece := raw.read(_BLOCK):
        yield piece


def _gzip(raw: io.RawIOBase) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=raw) as unpacked:  # compares checksum and length at the end of each member
        while piece := unpacked.read(_BLOCK):
            yield piece


def _zstd(raw: io.RawIOBase) -> Iterator[bytes]:
    # Arrow's stream raises when a frame is cut off; the one of the zstandard package just ends.
    with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as unpacked:
        while piece := unpacked.read(_BLOCK):
            yield piece


def _xz(raw: io.RawIOBase) -> Iterator[bytes]:
    # lzma.LZMAFile overlooks whatever follows the last stream, so the streams are walked here.
    packed = raw.read(_BLOCK)
    while packed:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = raw.read(_BLOCK)
                if not packed:
                    raise EOFError("it ends within a stream")
            if piece := unpacker.decompress(packed, _BLOCK):
                yield piece
            packed = b""
        packed = unpacker.unused_data.lstrip(b"\0")  # streams may be padded
        while not packed and (more := raw.read(_BLOCK)):
            packed = more.lstrip(b"\0")


UNPACKERS: dict[str, Callable[[io.RawIOBase], Iterator[bytes]]] = {
    "plain": _plain,
    "gzip": _gzip,
    "zstd": _zstd,
    "xz": _xz,
}
"""How to unpack each kind."""
