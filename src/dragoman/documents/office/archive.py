"""Read untrusted zip archives within limits, and write a copy with some files replaced."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from copy import copy

from dragoman.documents.limits import DocumentTooLargeError
from dragoman.errors import DataError

MAX_MEMBERS = 4000
MAX_BYTES = 256 << 20
"""Maximum uncompressed size of all members in bytes."""
MAX_RATIO = 150
"""Maximum compression ratio. Office documents reach 10 to 20; a higher ratio indicates a decompression bomb."""
MAX_XML_BYTES = 24 << 20
"""Maximum uncompressed size of all members read as XML, in bytes: a book of thousands of pages."""

_END = b"PK\x05\x06"
_MAX_END = 22 + (1 << 16)  # bytes of the end record with its comment
_ENTRY_BYTES = 512  # of a member in the directory, with a long name
_SMALL_BYTES = 8 << 20  # a smaller uncompressed size is accepted at any ratio
_ENCRYPTED = 1
_METHODS = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
)  # the methods of Office; others have errors and costs of their own
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, ValueError, OSError, zlib.error,
    RuntimeError,
)  # fmt: skip


class Archive:
    """Members of a zip archive by name. Nothing is unpacked to disk; nested archives are not opened."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data
        self._seen: set[str] = set()
        self._xml_bytes = 0  # of the members in `_seen`
        if data.startswith(_OLE):
            raise DataError(f"{name} is encrypted or in an older format; save it again without a password")
        if not data.startswith(b"PK\x03\x04"):
            raise DataError(f"{name} is not a zip archive, as its suffix requires; check the suffix")
        self._check_directory()
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._check(self._zip.infolist())
        except _ERRORS as error:
            raise self._damaged(error) from None
        self.names = frozenset(self._zip.namelist())

    def read(self, member: str) -> bytes:
        try:
            if member not in self._seen:
                self._seen.add(member)
                self._xml_bytes += self._zip.getinfo(member).file_size
            if self._xml_bytes > MAX_XML_BYTES:
                raise DocumentTooLargeError(
                    f"{self.name} must contain at most {MAX_XML_BYTES:,} bytes of XML, got more; split it"
                )
            return self._zip.read(member)
        except KeyError:
            raise DataError(f"{self.name} has no {member}; save it again") from None
        except _ERRORS as error:
            raise self._damaged(error) from None

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the archive with some members replaced; everything else, including the order, is unchanged."""
        if not changed:
            return self._data
        target = io.BytesIO()
        try:
            with zipfile.ZipFile(target, "w") as written:
                for entry in self._zip.infolist():
                    data = changed.get(entry.filename)
                    written.writestr(copy(entry), self._zip.read(entry) if data is None else data)
                written.comment = self._zip.comment
        except _ERRORS as error:
            raise self._damaged(error) from None
        return target.getvalue()

    def _damaged(self, error: Exception) -> DataError:
        detail = ascii(str(error))[1:121]
        return DataError(f"{self.name} is damaged ({detail}); download or save it again")

    def _check_directory(self) -> None:
        """Check the size of the directory of members before zipfile reads it: an entry takes 600 bytes of memory."""
        end = self._data.rfind(_END, max(0, len(self._data) - _MAX_END))
        if end < 0:
            raise self._damaged(EOFError("no end record"))
        size = int.from_bytes(self._data[end + 12 : end + 16], "little")
        if size > MAX_MEMBERS * _ENTRY_BYTES:
            raise DocumentTooLargeError(f"{self.name} must contain at most {MAX_MEMBERS:,} members, got more; split it")

    def _check(self, entries: list[zipfile.ZipInfo]) -> None:
        if len(entries) > MAX_MEMBERS:
            raise DocumentTooLargeError(
                f"{self.name} must contain at most {MAX_MEMBERS:,} members, got {len(entries):,}; split it"
            )
        total = sum(entry.file_size for entry in entries)
        if total > MAX_BYTES or total > max(_SMALL_BYTES, MAX_RATIO * len(self._data)):
            raise DataError(
                f"{self.name} must not expand to much more than its size, got {total:,} bytes from "
                f"{len(self._data):,}; check whether it is a decompression bomb"
            )
        if len({entry.filename for entry in entries}) != len(entries):
            raise DataError(f"{self.name} has a member twice; save it again")
        for entry in entries:
            shown = ascii(entry.filename)[:80]
            name = entry.orig_filename
            if (
                name.startswith(("/", "\\"))
                or ":" in name
                or "\0" in name
                or ".." in name.replace("\\", "/").split("/")
            ):
                raise DataError(f"{self.name} must have relative member names without '..', got {shown}; save it again")
            if entry.flag_bits & _ENCRYPTED:
                raise DataError(f"{self.name} is encrypted ({shown}); save it without a password")
            if entry.compress_type not in _METHODS:
                raise DataError(f"{self.name} has a member that is not stored or deflated ({shown}); save it again")
