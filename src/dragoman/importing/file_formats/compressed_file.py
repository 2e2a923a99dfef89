"""Decompress gzip and zstd files whose content comes from the network: the size of the result is limited."""

import zlib
from pathlib import Path

from dragoman.environment import import_package
from dragoman.errors import BundleError

COMPRESSED = r"(?:\.(?:gz|zst))?"
"""Regular expression of the suffixes."""

_MAX_EXPANSION = 20  # weights compress by half at most, vocabularies by a factor of 5
_SMALL = 1 << 20
_STEP = 1 << 10  # bytes of zstd data at a time: at most 32 MiB of output, 128 KiB per block of 4 bytes


def max_expanded_bytes(size: int) -> int:
    """Return the most bytes that compressed data of a size may expand to."""
    return _MAX_EXPANSION * size + _SMALL


def decompress(path: Path, data: bytes, max_bytes: int) -> bytes:
    """Return the content of a file by its suffix: .gz and .zst are decompressed, up to `max_bytes`."""
    if path.suffix not in {".gz", ".zst"}:
        return data
    most = min(max_bytes, max_expanded_bytes(len(data)))
    kind, expand = ("gzip", _gunzip) if path.suffix == ".gz" else ("zstd", _unzstd)
    content = expand(path, data, most)
    if content is None:
        raise BundleError(f"{path} must hold one complete {kind} stream of at most {most:,} bytes; get the file again")
    return content


def _gunzip(path: Path, data: bytes, most: int) -> bytes | None:
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(data, most + 1)  # no more than this is decompressed
    except zlib.error as error:
        raise BundleError(f"{path} must be a gzip file, got: {error}; get the file again") from None
    return content if len(content) <= most and stream.eof and not stream.unused_data else None


def _unzstd(path: Path, data: bytes, most: int) -> bytes | None:
    zstandard = import_package("zstandard", "get", f"reading {path.name}")
    stream = zstandard.ZstdDecompressor().decompressobj()  # it refuses a window of more than 128 MiB
    content = bytearray()
    view = memoryview(data)
    try:
        for place in range(0, len(data), _STEP):
            content += stream.decompress(view[place : place + _STEP])
            if len(content) > most or stream.eof:
                is_complete = stream.eof and not stream.unused_data and place + _STEP >= len(data)
                return bytes(content) if is_complete and len(content) <= most else None
    except zstandard.ZstdError as error:
        raise BundleError(f"{path} must be a zstd file, got: {error}; get the file again") from None
    return None
