"""Decompress downloads of gzip and Zstandard in blocks, with limits."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from dragoman.catalogs.catalog_model import CatalogFile
from dragoman.environment import require
from dragoman.errors import DataError
from dragoman.files import open_without_links

MAX_EXPANSION = 20  # models compress by half at most, vocabularies by a factor of 5
_SMALL = 1 << 20
_BLOCK = 1 << 18
_REPLACE = os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ZST_INPUT = 1 << 10  # bytes at once: each can expand by a factor of 43,000
_ZST_WINDOW = 1 << 27
_ADVICE = "the catalog and the file do not fit: read the catalog again, or use another one"


def decompress(path: Path, target: Path, file: CatalogFile) -> None:
    """Write the content of a download to a file; its size and digest are checked."""
    most = MAX_EXPANSION * path.stat().st_size + _SMALL
    if file.content_size > most:
        raise DataError(f"{file.name} must expand to at most {most:,} bytes, got {file.content_size:,}; {_ADVICE}")
    most = file.content_size or most
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, open_without_links(target, _REPLACE) as output:
        for block in _contents(file)(source):
            size += len(block)
            if size > most:
                raise DataError(f"{file.name} expands to more than {most:,} bytes; {_ADVICE}")
            digest.update(block)
            output.write(block)
    if file.content_size and size != file.content_size:
        raise DataError(f"{file.name} must expand to {file.content_size:,} bytes, got {size:,}; {_ADVICE}")
    if file.content_sha256 and digest.hexdigest() != file.content_sha256:
        raise DataError(f"{file.name} must have the SHA-256 {file.content_sha256}, got {digest.hexdigest()}; {_ADVICE}")


def _contents(file: CatalogFile) -> Callable[[IO[bytes]], Iterator[bytes]]:
    readers = {"": _plain, "gz": _gzip, "zst": _zstandard}
    if file.compression not in readers:
        raise DataError(f"{file.name} has the compression {file.compression!r}, which is not supported; {_ADVICE}")
    return readers[file.compression]


def _plain(source: IO[bytes]) -> Iterator[bytes]:
    while block := source.read(_BLOCK):
        yield block


def _gzip(source: IO[bytes]) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits=31)
    try:
        while not stream.eof:
            data = stream.unconsumed_tail or source.read(_BLOCK)
            block = stream.decompress(data, _BLOCK)
            if not data and not block:  # at the end of the file, output can still be pending
                break
            yield block
    except zlib.error as error:
        raise DataError(f"the download is no valid gzip file ({error}); {_ADVICE}") from None
    if not stream.eof or stream.unused_data or source.read(1):
        raise DataError(f"the download is not one complete gzip stream; {_ADVICE}")


def _zstandard(source: IO[bytes]) -> Iterator[bytes]:
    require("zstandard", "get", "a download")
    import zstandard  # noqa: PLC0415 -- an extra

    stream = zstandard.ZstdDecompressor(max_window_size=_ZST_WINDOW).decompressobj()
    try:
        while not stream.eof and (data := source.read(_ZST_INPUT)):
            yield stream.decompress(data)
    except zstandard.ZstdError as error:
        raise DataError(f"the download is no valid Zstandard file ({error}); {_ADVICE}") from None
    if not stream.eof or stream.unused_data or source.read(1):
        raise DataError(f"the download is not one complete Zstandard stream; {_ADVICE}")
