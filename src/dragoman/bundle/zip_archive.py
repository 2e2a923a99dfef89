"""Unpack a saved model (bundle) from an uncompressed zip archive."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import BundleError

_MAX_BYTES = 2 << 30
_MAX_ENTRIES = 16
_MAX_DIRECTORY = 1 << 16
_END = b"PK\x05\x06"
_END_SIZE = 22
_ZIP64 = b"PK\x06\x07"
_ZIP64_SIZE = 20
_ENCRYPTED = 1


def unpack(archive: Path, into: Path, max_bytes: Callable[[str], int]) -> None:
    """Copy the entries of an archive to a folder; `max_bytes` returns the size limit of a name, 0 if it is not allowed.

    Allowed names are plain file names, so no entry can be written elsewhere.
    """
    try:
        _check_end(archive)
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            _check_entries(archive, entries, max_bytes)
            for entry in entries:
                with opened.open(entry) as source, (into / entry.filename).open("xb") as target:
                    shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise BundleError(f"{archive} cannot be read as a zip archive: {error}; get it again") from None


def _check_end(archive: Path) -> None:
    """Check the end record, which gives the size of the directory, before zipfile reads the directory."""
    size = archive.stat().st_size
    if size > _MAX_BYTES:
        raise BundleError(
            f"{archive} must have at most {_MAX_BYTES:,} bytes, got {size:,}; unpack it and pass the folder"
        )
    with archive.open("rb") as file:
        file.seek(max(0, size - _END_SIZE - _ZIP64_SIZE))
        tail = file.read()
    end = tail[-_END_SIZE:]
    if not end.startswith(_END) or len(end) < _END_SIZE:
        raise BundleError(f"{archive} is no zip archive, or one with a comment; get it again")
    entries, directory = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if entries > _MAX_ENTRIES or directory > _MAX_DIRECTORY or tail.startswith(_ZIP64):
        raise BundleError(f"{archive} has more than {_MAX_ENTRIES} entries; get it again")


def _check_entries(archive: Path, entries: list[zipfile.ZipInfo], max_bytes: Callable[[str], int]) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise BundleError(f"{archive} has a file twice; get it again")
    for entry in entries:
        shown = ascii(entry.filename)[:80]
        limit = max_bytes(entry.filename)
        if not limit:
            raise BundleError(f"{archive} has {shown}, which is no file of a bundle; get it again")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or entry.is_dir() or entry.flag_bits & _ENCRYPTED:
            raise BundleError(f"{archive} has {shown}, which is not a plain file; get it again")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise BundleError(f"{archive} has {shown} compressed, and only plain archives are read; zip it with -0")
        if entry.file_size > limit:
            raise BundleError(f"{archive} must hold at most {limit:,} bytes of {shown}, got {entry.file_size:,}")
    if sum(entry.file_size for entry in entries) > archive.stat().st_size:
        raise BundleError(f"{archive} has entries that overlap, as a decompression bomb does; get it again")
