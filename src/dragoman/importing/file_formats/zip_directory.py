"""Limit the directory of an untrusted zip archive before `zipfile` reads it: each entry becomes an object."""

from __future__ import annotations

import struct
from pathlib import Path

from dragoman.errors import BundleError

__all__ = ["check_directory"]

_END, _END_SIZE = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_SIZE = b"PK\x06\x07", 20
_END_64, _END_64_SIZE = b"PK\x06\x06", 56
_MAX_COMMENT = (1 << 16) - 1
_UNUSED = (1 << 32) - 1


def check_directory(path: Path, max_bytes: int) -> None:
    """Require an end record whose directory, of about 100 bytes per entry, has at most `max_bytes`."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END_64_SIZE - _LOCATOR_SIZE - _END_SIZE - _MAX_COMMENT))
        tail = file.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_SIZE:
        raise BundleError(f"{path} must be a zip archive, got no end of one; get the file again")
    directory = struct.unpack_from("<I", tail, place + 12)[0]
    locator = place - _LOCATOR_SIZE
    if locator >= 0 and tail.startswith(_LOCATOR, locator):
        record = locator - _END_64_SIZE
        stated = struct.unpack_from("<Q", tail, locator + 8)[0]
        if record < 0 or not tail.startswith(_END_64, record) or stated != size - len(tail) + record:
            raise BundleError(f"{path} must be a zip archive, got another end of one; get the file again")
        directory = max(directory % _UNUSED, struct.unpack_from("<Q", tail, record + 40)[0])
    if directory > max_bytes:
        raise BundleError(
            f"{path} must have a directory of at most {max_bytes:,} bytes, got {directory:,}; get the file again"
        )
