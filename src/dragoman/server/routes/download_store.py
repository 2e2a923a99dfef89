"""Store translated documents for download in a private folder until they expire."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.server.errors import Overloaded

__all__ = ["DownloadStore", "StoredDocument", "plain_name"]

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME = 100  # characters
_DIRECTLY = "request it directly, with Accept: application/octet-stream"


@dataclass(frozen=True)
class StoredDocument:
    """A stored document; it expires at `until`, in the time of the store's clock."""

    path: Path
    name: str
    bytes: int
    until: float


class DownloadStore:
    """Documents by unguessable keys. The folder is created with the first and deleted with the process."""

    def __init__(
        self,
        *,
        seconds: float = 1800.0,
        max_documents: int = 100,
        max_bytes: int = 256 * _MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._max_documents, self._max_bytes = seconds, max_documents, max_bytes
        self._clock = clock
        self._documents: dict[str, StoredDocument] = {}
        self._folder: Path | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, name: str, data: bytes) -> str:
        """Store a document and return its key; the oldest are deleted to make room."""
        if len(data) > self._max_bytes:
            raise Overloaded(
                f"the translated document must have at most {self._max_bytes:,} bytes to be stored, got {len(data):,}; "
                f"{_DIRECTLY}"
            )
        self._delete_old(room=len(data))
        shown = plain_name(name)
        key = f"{secrets.token_urlsafe(24)}.{shown}"
        try:
            path = self._create_folder() / secrets.token_hex(16)
            path.write_bytes(data)
        except OSError:
            raise Overloaded(f"the server must have disk space for the document, got none; {_DIRECTLY}") from None
        self._documents[key] = StoredDocument(path, shown, len(data), self._clock() + self._seconds)
        return key

    def get(self, key: str) -> StoredDocument | None:
        """Return the document of a key, unless it has expired."""
        self._delete_old()
        return self._documents.get(key)

    def close(self) -> None:
        """Delete all documents."""
        self._documents.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _delete_old(self, room: int | None = None) -> None:
        now = self._clock()
        total = sum(each.bytes for each in self._documents.values())
        for key, each in list(self._documents.items()):  # the oldest first
            is_full = room is not None and (
                total + room > self._max_bytes or len(self._documents) >= self._max_documents
            )
            if each.until <= now or is_full:
                each.path.unlink(missing_ok=True)
                total -= each.bytes
                del self._documents[key]

    def _create_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-documents-"))
            weakref.finalize(self, shutil.rmtree, str(self._folder), ignore_errors=True)
        return self._folder


def plain_name(name: str) -> str:
    """Return a file name without folders, of letters, digits, dots, - and _."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("_", last).lstrip(".")[-_MAX_NAME:] or "document"
