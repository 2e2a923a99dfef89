"""Documents that are zip archives: opened with care, and written again with some members changed."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

from dragoman.errors import DataError

__all__ = ["Archive"]

MOST_MEMBERS = 4000
MOST_BYTES = 256 << 20
"""The most that all members together may unpack to."""
MOST_RATIO = 150
"""Text of office documents packs to a tenth or a twentieth; what packs better than this is made to fill memory."""
MOST_XML = 24 << 20
"""The most that the members which are read as XML may unpack to, together: a book of thousands of pages."""

_SMALL = 8 << 20  # what unpacks to less than this is harmless at any ratio
_ENCRYPTED = 1
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FAULTS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, ValueError, OSError, zlib.error,
    RuntimeError,
)  # fmt: skip


class Archive:
    """The members of a zip archive, by name. Nothing is ever unpacked to the disk; archives in it are not opened."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data
        self._read: dict[str, int] = {}
        if data.startswith(_OLE):
            raise DataError(
                f"{name} must be a document that is not encrypted and in the format of its suffix, got an encrypted "
                "one or one of an older format; save it anew without a password"
            )
        if not data.startswith(b"PK\x03\x04"):
            raise DataError(f"{name} must be what its suffix says, a zip archive, got something else; check the suffix")
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as opened:
                self._check(opened.infolist())
                self.names = frozenset(opened.namelist())
        except _FAULTS as error:
            raise self._damaged(error) from None

    def read(self, member: str) -> bytes:
        """A member's bytes."""
        try:
            with zipfile.ZipFile(io.BytesIO(self._data)) as opened:
                self._read[member] = opened.getinfo(member).file_size
                if sum(self._read.values()) > MOST_XML:
                    raise DataError(f"{self.name} must hold at most {MOST_XML:,} bytes of XML, got more; split it")
                return opened.read(member)
        except KeyError:
            raise DataError(f"{self.name} must hold {member}, got none; save it again") from None
        except _FAULTS as error:
            raise self._damaged(error) from None

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with other bytes for some members; all else, the order too, as it was."""
        if not changed:
            return self._data
        target = io.BytesIO()
        try:
            with zipfile.ZipFile(io.BytesIO(self._data)) as source, zipfile.ZipFile(target, "w") as written:
                for entry in source.infolist():
                    data = changed.get(entry.filename)
                    written.writestr(entry, source.read(entry) if data is None else data)
                written.comment = source.comment
        except _FAULTS as error:
            raise self._damaged(error) from None
        return target.getvalue()

    def _damaged(self, error: Exception) -> DataError:
        detail = ascii(str(error))[1:121]
        return DataError(f"{self.name} must be a whole zip archive, got a damaged one ({detail}); get it again")

    def _check(self, entries: list[zipfile.ZipInfo]) -> None:
        if len(entries) > MOST_MEMBERS:
            raise DataError(f"{self.name} must hold at most {MOST_MEMBERS:,} members, got {len(entries):,}; split it")
        total = sum(entry.file_size for entry in entries)
        if total > MOST_BYTES or total > max(_SMALL, MOST_RATIO * len(self._data)):
            raise DataError(
                f"{self.name} must not unpack to much more than it is, got {total:,} bytes out of {len(self._data):,}; "
                "it may be made to fill memory"
            )
        if len({entry.filename for entry in entries}) != len(entries):
            raise DataError(f"{self.name} must hold each member once, got one of them again; save it again")
        for entry in entries:
            shown = ascii(entry.filename)[:80]
            name = entry.orig_filename
            if (
                name.startswith(("/", "\\"))
                or ":" in name
                or "\0" in name
                or ".." in name.replace("\\", "/").split("/")
            ):
                raise DataError(f"{self.name} must name its members plainly, got {shown}; save it again")
            if entry.flag_bits & _ENCRYPTED:
                raise DataError(f"{self.name} must not be encrypted, got {shown} encrypted; save it without a password")
