"""Detect and read gzip, zstd and xz files; truncated files raise an error."""

import gzip
import io
import lzma
from collections.abc import Callable, Iterator

import pyarrow as pa

from dragoman.errors import DataError

LONGEST_MAGIC = 8
"""Number of bytes needed to detect the compression of a file."""

SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".xz": "xz"}
"""Suffixes of compressed files."""

_BLOCK = 1 << 19  # bytes per read
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_ZSTD_NOTES = b"\x2a\x4d\x18"  # after a byte 0x50 to 0x5f: a skippable frame, which some tools write first
_FOREIGN_SUFFIXES = {".bz2": "bzip2", ".zip": "zip", ".7z": "7-Zip", ".lz4": "lz4", ".rar": "RAR", ".z": "compress"}
_FOREIGN_MAGIC = {b"BZh91AY": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "lz4"}


def detect_compression(name: str, suffix: str, head: bytes) -> str:
    """Return the compression of a file by its first bytes; `DataError` if its suffix differs or it is unsupported."""
    foreign = [kind for magic, kind in _FOREIGN_MAGIC.items() if head.startswith(magic)]
    if foreign or suffix in _FOREIGN_SUFFIXES:
        kind = foreign[0] if foreign else _FOREIGN_SUFFIXES[suffix]
        raise DataError(f"{name} must be plain text, gzip, zstd or xz, got {kind}; unpack it first")
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
    if head[1:4] == _ZSTD_NOTES and head[0] >> 4 == 5:
        found = "zstd"
    promised = SUFFIXES.get(suffix, found)
    begun = [kind for magic, kind in _MAGIC.items() if head.startswith(magic) or (head and magic.startswith(head))]
    if len(head) < LONGEST_MAGIC and promised in begun:  # a complete compressed file is longer
        raise DataError(f"{name} is truncated: its {promised} data is not complete; copy or download it again")
    if promised != found and head:
        raise DataError(f"{name} must be {promised} data by its name, got {found} data; rename it or copy it again")
    return found


def _plain(raw: io.RawIOBase) -> Iterator[bytes]:
    while block := raw.read(_BLOCK):
        yield block


def _gzip(raw: io.RawIOBase) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=raw) as unpacked:  # verifies checksum and length of each member
        while block := unpacked.read(_BLOCK):
            yield block


def _zstd(raw: io.RawIOBase) -> Iterator[bytes]:
    # Arrow raises an error on a truncated frame; the zstandard package just ends.
    with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as unpacked:
        while block := unpacked.read(_BLOCK):
            yield block


def _xz(raw: io.RawIOBase) -> Iterator[bytes]:
    # lzma.LZMAFile ignores data after the last stream, so the streams are read one by one.
    packed = raw.read(_BLOCK)
    while packed:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = raw.read(_BLOCK)
                if not packed:
                    raise EOFError("it ends within a stream")
            if block := unpacker.decompress(packed, _BLOCK):
                yield block
            packed = b""
        packed = unpacker.unused_data.lstrip(b"\0")  # streams may be padded
        while not packed and (more := raw.read(_BLOCK)):
            packed = more.lstrip(b"\0")


DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], Iterator[bytes]]] = {
    "plain": _plain,
    "gzip": _gzip,
    "zstd": _zstd,
    "xz": _xz,
}
"""Decompression function of each kind."""
