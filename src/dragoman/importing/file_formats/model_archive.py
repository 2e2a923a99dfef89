"""Unpack an archive with one model (zip, .argosmodel, .tar.gz): known names only, with limits on number and size."""

import gzip
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO

from dragoman.errors import BundleError
from dragoman.importing.source_files import COMPRESSED, MAX_TEXT_BYTES, check_zip_directory, max_expanded_bytes, reason

_MAX_ENTRIES = 2000
_MAX_DIRECTORY = 1 << 19
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # LZMA allocates as much memory as its header states
_MAX_MODEL = 4 << 30
_MAX_READ = 1 << 20
_TAR = (".tar.gz", ".tgz")
_IN_MODEL = re.compile(r"model\.bin|config\.json|(?:source|target|shared)_vocabulary\.(?:json|txt)")
"""Files of the folder ``model`` of an Argos package."""
_ON_TOP = re.compile(
    rf"metadata\.json|model_info\.json|README\.md|LICENSE|sentencepiece\.model|bpe\.model|.+\.ya?ml|.+\.npz|"
    rf".+\.(?:bin|spm){COMPRESSED}"
)
_WEIGHTS = re.compile(rf".+\.(?:bin{COMPRESSED}|npz)")


@dataclass(frozen=True)
class _Entry:
    """A file of an archive: its path, stated size, whether it is a plain file, and a function that opens it."""

    path: str
    size: int
    is_plain: bool
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive that can be unpacked."""
    return path.is_file() and (path.name.endswith(_TAR) or zipfile.is_zipfile(path))


@contextmanager
def unpacked(package: Path) -> Iterator[Path]:
    """Unpack the files that are read to a temporary folder, those of a folder ``model`` to one, the others on top."""
    with TemporaryDirectory(prefix="dragoman-import-") as temporary:
        folder = Path(temporary) / "files"
        (folder / "model").mkdir(parents=True)
        kind, entries = ("tar.gz", _tar_entries) if package.name.endswith(_TAR) else ("zip", _zip_entries)
        try:
            _unpack(package, entries(package, Path(temporary)), folder)
        except (
            *(zipfile.BadZipFile, tarfile.TarError, zlib.error),
            *(OSError, EOFError, NotImplementedError, RuntimeError),
        ) as error:
            raise BundleError(
                f"{package} must be a {kind} archive, got: {reason(error)}; get the package again"
            ) from None
        if not any((folder / "model").iterdir()):
            (folder / "model").rmdir()
        yield folder


def _zip_entries(package: Path, _: Path) -> Iterator[_Entry]:
    check_zip_directory(package, _MAX_DIRECTORY)
    with zipfile.ZipFile(package) as archive:
        entries = archive.infolist()
        if len(entries) > _MAX_ENTRIES:
            raise BundleError(f"{package} must hold at most {_MAX_ENTRIES:,} files, got {len(entries):,}; get it again")
        for entry in entries:
            kind = stat.S_IFMT(entry.external_attr >> 16)
            is_plain = kind in (0, stat.S_IFREG) and entry.compress_type in _METHODS
            if not entry.is_dir():
                yield _Entry(entry.filename, entry.file_size, is_plain, lambda entry=entry: archive.open(entry))  # type: ignore[misc]


def _tar_entries(package: Path, temporary: Path) -> Iterator[_Entry]:
    """The entries in their order; the whole archive is decompressed before, since tarfile goes back in a file."""
    plain, left = temporary / "archive.tar", max_expanded_bytes(package.stat().st_size)
    with gzip.open(package) as source, plain.open("wb") as target:
        while block := source.read(_MAX_READ):
            left -= len(block)
            if left < 0:
                raise _too_large(package)
            target.write(block)
    with plain.open("rb") as file, tarfile.open(fileobj=_SmallReads(file), mode="r:") as archive:  # type: ignore[call-overload]
        for number, member in enumerate(archive):
            if number >= _MAX_ENTRIES:
                raise BundleError(f"{package} must hold at most {_MAX_ENTRIES:,} files, got more; get it again")
            if not member.isdir():
                is_plain = member.isreg() and not member.issparse()
                yield _Entry(member.name, member.size, is_plain, lambda member=member: archive.extractfile(member))  # type: ignore[misc]


def _unpack(package: Path, entries: Iterator[_Entry], folder: Path) -> None:
    left = max_expanded_bytes(package.stat().st_size)  # entries may share compressed data: all together
    for entry in entries:
        name = _known_name(entry.path)
        if name is None:
            continue
        most = _MAX_MODEL if _WEIGHTS.fullmatch(name) else MAX_TEXT_BYTES
        if not entry.is_plain or entry.size > most or (folder / name).exists():
            raise BundleError(
                f"{package} must hold {ascii(name)[1:-1][:80]} once, as a plain file of at most {most:,} bytes; get it "
                "again"
            )
        left -= entry.size
        if left < 0:
            raise _too_large(package)
        source = entry.open()
        assert source is not None  # a plain file
        with source, (folder / name).open("xb") as target:
            shutil.copyfileobj(_Limited(source, entry.size), target)  # a header can state a smaller size


def _too_large(package: Path) -> BundleError:
    most = max_expanded_bytes(package.stat().st_size)
    return BundleError(f"{package} must expand to at most {most:,} bytes, got more; get it again")


class _Limited:
    """A stream that ends with an error after a number of bytes."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise zipfile.BadZipFile("a file is larger than its header states")
        return data


class _SmallReads:
    """A file for `tarfile`, which reads a header of any stated size at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError("a header is too large")
        return self._file.read(size)


def _known_name(path: str) -> str | None:
    """The name of a file, if it is one that is read. The model may be in a folder of its own."""
    parts = PurePosixPath(path).parts
    if len(parts) in (2, 3) and parts[-2] == "model" and _IN_MODEL.fullmatch(parts[-1]):
        return f"model/{parts[-1]}"
    if parts and len(parts) <= 2 and _ON_TOP.fullmatch(parts[-1]) and "\\" not in parts[-1]:
        return parts[-1]
    return None
