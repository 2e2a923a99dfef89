"""Files of a model to import: found by name, checked for size before they are read, and hashed."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.environment import import_package
from dragoman.errors import BundleError

MAX_TEXT_BYTES = 64 << 20
_MAX_JSON_BYTES = 16 << 20
_MAX_JSON_VALUES = 2_000_000  # a vocabulary has two per token; one takes about 100 bytes of memory
MAX_WEIGHT_BYTES = 32 << 30
_MAX_LISTED = 1000
_SHOWN = 12
_MAX_REASON = 200
_POINTER, _MAX_POINTER = b"version https://git-lfs.github.com/spec/", 1024

_END, _END_SIZE = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_SIZE = b"PK\x06\x07", 20
_END_64, _END_64_SIZE = b"PK\x06\x06", 56
_MAX_COMMENT = (1 << 16) - 1
_UNUSED = (1 << 32) - 1


@dataclass(frozen=True)
class SourceFile:
    """Name, size and SHA-256 of a file that was read."""

    name: str
    size: int
    sha256: str


@dataclass
class SourceFolder:
    """A folder with the files of one model. `used` are the files read until now, by `prefix` and name."""

    path: Path
    used: dict[str, SourceFile] = field(default_factory=dict)
    prefix: str = ""

    @classmethod
    def open(cls, path: Path) -> SourceFolder:
        """Open a folder, or the folder of one model in the cache of Hugging Face."""
        if not path.is_dir():
            raise BundleError(f"{path} is a file; name the folder of the model")
        return cls(_snapshot(path))

    def names(self) -> list[str]:
        """Names of the regular files in the folder, sorted."""
        try:
            found = [each.name for each, _ in zip(self.path.iterdir(), range(_MAX_LISTED), strict=False)]
        except OSError as error:
            raise BundleError(f"{self.path} must be a readable folder, got: {error.strerror}") from None
        return sorted(name for name in found if (self.path / name).is_file())

    def has(self, *names: str) -> bool:
        """Whether all of these files exist."""
        return all((self.path / name).is_file() for name in names)

    def file(self, name: str, *, max_bytes: int = MAX_WEIGHT_BYTES) -> Path:
        """Return the path of a regular file after a check of its size; its hash is recorded."""
        path = self.path / name
        if not path.is_file():  # follows the symbolic links of a cache; excludes devices and pipes
            raise BundleError(f"{self.path} must hold {name}, got {self.listing()}; complete the folder")
        size = path.stat().st_size
        if not 0 < size <= max_bytes:
            raise BundleError(f"{path} must have 1 to {max_bytes:,} bytes, got {size:,}; get the file again")
        if size <= _MAX_POINTER and path.read_bytes().startswith(_POINTER):
            raise BundleError(
                f"{path} is a Git LFS pointer, not the file itself; fetch the file with git lfs pull, or get a model "
                "by its languages: dragoman get en-pt"
            )
        full = self.prefix + name
        if full not in self.used:
            with path.open("rb") as opened:
                self.used[full] = SourceFile(full, size, hashlib.file_digest(opened, "sha256").hexdigest())
        return path

    def read(self, name: str, *, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
        return self.file(name, max_bytes=max_bytes).read_bytes()

    def read_decompressed(self, name: str, *, max_bytes: int) -> bytes:
        """Return the content of a file; one that ends in .gz or .zst is decompressed, up to `max_bytes`."""
        return decompress(self.path / name, self.read(name, max_bytes=max_bytes), max_bytes)

    def read_json(self, name: str) -> Any:
        """Parse a JSON file; the number of its values is limited before."""
        data = self.read(name, max_bytes=_MAX_JSON_BYTES)
        values = sum(map(data.count, (b",", b":", b"[", b"{")))
        if values > _MAX_JSON_VALUES:
            raise BundleError(
                f"{self.path / name} must hold at most {_MAX_JSON_VALUES:,} values, got {values:,}; get the file again"
            )
        try:
            return json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BundleError(f"{self.path / name} must be JSON, got: {reason(error)}; get the file again") from None

    def listing(self) -> str:
        """The files of the folder, for messages."""
        names = [ascii(name)[1:-1][:60] for name in self.names()]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return (", ".join(names[:_SHOWN]) + more) or "no files"


def reason(error: BaseException) -> str:
    """The message of an error on one line. It can contain text of a file: the length is limited."""
    text = ascii(" ".join(str(error).split()))[1:-1]
    return (text if len(text) <= _MAX_REASON else text[:_MAX_REASON] + "…") or type(error).__name__


def _snapshot(path: Path) -> Path:
    """The current snapshot of a model in the cache of Hugging Face; other folders are returned unchanged."""
    reference, snapshots = path / "refs" / "main", path / "snapshots"
    if not snapshots.is_dir():
        return path
    if reference.is_file() and reference.stat().st_size < 100:
        chosen = snapshots / reference.read_text(encoding="ascii", errors="replace").strip()
        if chosen.parent == snapshots and chosen.is_dir():
            return chosen
    complete = sorted(each for each in snapshots.iterdir() if each.is_dir())
    return complete[0] if len(complete) == 1 else path


def check_zip_directory(path: Path, max_bytes: int) -> None:
    """Require an end record whose directory, of about 100 bytes per entry, has at most `max_bytes`."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END_64_SIZE - _LOCATOR_SIZE - _END_SIZE - _MAX_COMMENT))
        tail = file.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_SIZE:
        raise BundleError(f"{path} is no complete zip archive: its end is missing; get the file again")
    directory = struct.unpack_from("<I", tail, place + 12)[0]
    locator = place - _LOCATOR_SIZE
    if locator >= 0 and tail.startswith(_LOCATOR, locator):
        record = locator - _END_64_SIZE
        stated = struct.unpack_from("<Q", tail, locator + 8)[0]
        if record < 0 or not tail.startswith(_END_64, record) or stated != size - len(tail) + record:
            raise BundleError(f"{path} is no complete zip archive: its end is damaged; get the file again")
        directory = max(directory % _UNUSED, struct.unpack_from("<Q", tail, record + 40)[0])
    if directory > max_bytes:
        raise BundleError(
            f"{path} must have a directory of at most {max_bytes:,} bytes, got {directory:,}; get the file again"
        )


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
