"""Download the files of a model: resumed, retried, and verified before they have their names.

<folder>/<name>                   a verified file
<folder>/.partial/<key>           the beginning of a download; the key is the digest of what is expected
<folder>/.partial/<key>.content   what is decompressed from it
<folder>/.partial/<key>.lock      held by the process that downloads it
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from dragoman.catalogs.catalog_model import MAX_FILE_BYTES, CatalogFile, CatalogModel
from dragoman.catalogs.http_client import (
    Access,
    RateWindow,
    RetryError,
    check_beginning,
    open_client,
    opened,
    pause,
    shown,
)
from dragoman.environment import require
from dragoman.errors import ConfigError, DataError
from dragoman.files import (
    fsync,
    lock_open_file,
    open_without_links,
    sha256_of_file,
)
from dragoman.progress import NoProgress, Progress

if TYPE_CHECKING:
    import httpx


PARTIAL = ".partial"
_POLL_SECONDS = 0.1  # while another process downloads the same file
_NEW_ATTEMPTS_AFTER = 1 << 20  # bytes: a connection that is lost again and again still makes progress
_SPACE_LEFT = 64 << 20
_ADVICE = "the catalog and the file do not fit: read the catalog again, or use another one"


def download_model(
    model: CatalogModel,
    folder: Path,
    progress: Progress | None = None,
    access: Access | None = None,
    *,
    is_local: bool = False,
) -> Path:
    """Download all files of a model and return what to import: the folder, or the archive in it."""
    progress, access = progress or NoProgress(), access or Access()
    if not model.files:
        raise ConfigError(f"{model.repository or model.pair} has no files to download; choose another model")
    folder.mkdir(parents=True, exist_ok=True)
    if model.repository and not is_local:
        from dragoman.catalogs.hugging_face import download_files  # noqa: PLC0415 -- an extra

        return download_files(model, folder, access)
    paths = [download(file, folder, progress, access, is_local=is_local) for file in model.files]
    return paths[0] if model.archive else folder


def download(
    file: CatalogFile,
    folder: Path,
    progress: Progress | None = None,
    access: Access | None = None,
    *,
    is_local: bool = False,
) -> Path:
    """Return the verified, decompressed file, downloaded or continued once by concurrent processes."""
    progress, access = progress or NoProgress(), access or Access()
    target, partial = folder / file.name, folder / PARTIAL / _key(file)
    began = time.time()
    try:
        with _lock(partial.with_suffix(".lock")):
            if not _is_right(target, file, began):
                _fetch(file, partial, target, _Transfer(file, partial, progress, access), is_local=is_local)
            _tidy(partial)
            return target
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"the disk of {folder} is full; free some space and run the command again") from None
        raise DataError(f"{target} cannot be written: {error.strerror or error}; name another folder") from None


def _lock(path: Path) -> IO[bytes]:
    """Wait for the lock of a download; it is held until the returned file is closed."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        # FileNotFoundError: another process has finished, and removed the file or its folder
        with suppress(FileNotFoundError), ExitStack() as opened_file:
            file = opened_file.enter_context(open_without_links(path, os.O_RDWR | os.O_CREAT))
            if lock_open_file(file) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                opened_file.pop_all()
                return file
        time.sleep(_POLL_SECONDS)


def _key(file: CatalogFile) -> str:
    expected = file.sha256 or f"{file.url} {file.content_sha256}"
    return hashlib.sha256(f"{expected} {file.compression}".encode()).hexdigest()[:32]


def _is_right(target: Path, file: CatalogFile, began: float) -> bool:
    """Whether a file has the stated digest; without one, whether another process has just downloaded it."""
    if not target.is_file():
        return False
    digest = file.content_sha256 or ("" if file.compression else file.sha256)
    return sha256_of_file(target) == digest if digest else target.stat().st_mtime > began


def _tidy(partial: Path) -> None:
    """Remove all files of a download, also those of killed writers; and the folder, if no other one needs it."""
    for path in partial.parent.glob(f"{partial.name}*"):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        partial.parent.rmdir()


def _fetch(file: CatalogFile, partial: Path, target: Path, transfer: _Transfer, *, is_local: bool) -> None:
    if urlsplit(file.url).scheme == "file":
        if not is_local:
            raise DataError(f"{file.url[:200]} is a local file, which only a local catalog can name; check the catalog")
        _finish(file, local_path(file.url), partial, target, keep=True)
        return
    continued = partial.is_file()
    transfer.run()
    try:
        _finish(file, partial, partial, target)
    except DataError:  # OSError: the download is kept
        transfer.forget()
        if not continued:
            raise
        transfer.run()  # the host may have changed the file since the first part was downloaded
        try:
            _finish(file, partial, partial, target)
        except DataError:
            transfer.forget()
            raise


def local_path(url: str) -> Path:
    """Return the path of a file:// address."""
    from urllib.request import url2pathname  # noqa: PLC0415 -- imports an HTTP client, which a search does not need

    return Path(url2pathname(urlsplit(url).path))


def _finish(file: CatalogFile, download: Path, partial: Path, target: Path, *, keep: bool = False) -> None:
    """Verify a complete download, decompress it, and give the result its name."""
    if not download.is_file():
        raise DataError(f"{download} does not exist; complete the folder of the catalog")
    size = download.stat().st_size
    if file.size and size != file.size:
        raise DataError(f"{file.name} must have {file.size:,} bytes as a download, got {size:,}; {_ADVICE}")
    if file.sha256 and (digest := sha256_of_file(download)) != file.sha256:
        raise DataError(f"{file.name} must have the SHA-256 {file.sha256} as a download, got {digest}; {_ADVICE}")
    draft = download
    if keep or file.compression or file.content_sha256 or file.content_size:
        draft = partial.with_suffix(".content")
        decompress(download, draft, file)
    fsync(draft)
    draft.replace(target)


class _Transfer:
    """The download of one file to its partial file."""

    def __init__(self, file: CatalogFile, partial: Path, progress: Progress, access: Access) -> None:
        self._file, self._partial, self._progress, self._access = file, partial, progress, access

    def forget(self) -> None:
        """Begin again the next time."""
        self._partial.unlink(missing_ok=True)

    def run(self) -> None:
        """Download what is missing; a lost connection is opened again."""
        if self._file.size and self._received() == self._file.size:
            return
        self._progress.begin(f"Download {self._file.name}")
        attempt = 0
        with open_client() as client:
            while True:
                before = self._received()
                try:
                    self._attempt(client)
                except RetryError as error:
                    attempt = 0 if self._received() - before >= _NEW_ATTEMPTS_AFTER else attempt
                    pause(error, attempt)
                    attempt += 1
                else:
                    return

    def _received(self) -> int:
        return self._partial.stat().st_size if self._partial.is_file() else 0

    def _attempt(self, client: httpx.Client) -> None:
        headers = self._resuming()
        with opened(client, self._file.url, self._access, headers) as response:
            if response.status_code == 416:
                if re.fullmatch(rf"bytes \*/{self._received()}", response.headers.get("Content-Range", "")):
                    return  # it was complete
                self.forget()
                raise RetryError(f"{shown(self._file.url)} has another size than before", 0)
            if response.status_code == 304 or (response.status_code == 206 and not headers):
                raise DataError(
                    f"{shown(self._file.url)} returned status {response.status_code}, which was not requested; check "
                    "the address"
                )
            if response.status_code == 206:
                self._check_range(response)
            else:
                self.forget()
            self._write(response)

    def _resuming(self) -> dict[str, str]:
        """Return the header that continues the partial file, if a digest tells whether its content is the same."""
        received, is_verified = self._received(), self._file.sha256 or self._file.content_sha256
        return {"Range": f"bytes={received}-"} if received and is_verified else {}

    def _check_range(self, response: httpx.Response) -> None:
        found = re.fullmatch(r"bytes (\d{1,20})-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if found is None or int(found.group(1)) != self._received():
            self.forget()
            raise RetryError(f"{shown(self._file.url)} sent another part of the file than requested", 0)
        if self._file.size and found.group(2) not in ("*", str(self._file.size)):
            self.forget()
            raise DataError(
                f"{self._file.name} must have {self._file.size:,} bytes as a download, got {found.group(2)}; {_ADVICE}"
            )

    def _write(self, response: httpx.Response) -> None:
        """Append the body to the partial file, with limits on its size and on its rate."""
        received = self._received()
        length = response.headers.get("Content-Length", "")
        total = received + int(length) if length.isdecimal() else self._file.size
        most = self._file.size or MAX_FILE_BYTES
        if total > most or (self._file.size and length and total != self._file.size):
            raise self._unexpected_size(total, response)
        self._check_space(total - received)
        window = RateWindow()
        with open_without_links(self._partial, os.O_RDWR | os.O_CREAT | os.O_APPEND) as output:
            for block in response.iter_raw():
                if not received:
                    check_beginning(response, block, self._file.url)
                received += len(block)
                if received > most:
                    raise self._unexpected_size(received, response)
                output.write(block)
                window.add(len(block), self._file.url)
                self._progress.advance(min(received / total, 1.0) if total else 0.0, received)
        if self._file.size and received < self._file.size:
            raise RetryError(f"{shown(self._file.url)} sent {received:,} of {self._file.size:,} bytes")

    def _unexpected_size(self, size: int, response: httpx.Response) -> DataError:
        if not self._received() and size < _SPACE_LEFT:
            check_beginning(response, next(response.iter_raw(), b""), self._file.url)
        self.forget()
        return DataError(
            f"{self._file.name} must have at most {self._file.size or MAX_FILE_BYTES:,} bytes as a download, got "
            f"{size:,}; {_ADVICE}"
        )

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._partial.parent).free
        if needed + self._file.content_size + _SPACE_LEFT > free:
            raise DataError(
                f"{self._file.name} needs {needed + self._file.content_size:,} bytes, and the disk of "
                f"{self._partial.parent.parent} has {free:,} free; free some space and run the command again"
            )


MAX_EXPANSION = 20  # models compress by half at most, vocabularies by a factor of 5
_SMALL = 1 << 20
_BLOCK = 1 << 18
_REPLACE = os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ZST_INPUT = 1 << 10  # bytes at once: each can expand by a factor of 43,000
_ZST_WINDOW = 1 << 27


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
