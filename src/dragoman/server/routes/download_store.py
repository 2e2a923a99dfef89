"""Store translated documents for download, in files without a name, until they expire.

The files are deleted from their folder when they are created: no other program can find or remove them, and nothing is
left on the disk if the process is killed.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from dragoman.server.errors import Overloaded

__all__ = ["DownloadStore", "StoredDocument", "plain_name"]

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME = 100  # characters
_OWNER_SHARE = 0.5  # of all documents and bytes, for the documents of one client
_CHUNK_BYTES = 256 << 10
_DIRECTLY = "request it directly, with Accept: application/octet-stream"


@dataclass(eq=False)
class StoredDocument:
    """A stored document; it expires at `until`, in the time of the store's clock."""

    name: str
    size: int
    owner: bytes
    until: float
    is_downloaded: bool = False
    _file: int = -1

    def write(self, data: bytes) -> None:
        """Write the content; the file exists as long as this object."""
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content in parts: a client that does not read its download must not fill the memory."""
        at = 0
        while at < self.size and (part := await asyncio.to_thread(os.pread, self._file, _CHUNK_BYTES, at)):
            at += len(part)
            yield part
        self.is_downloaded = True


class DownloadStore:
    """Documents by unguessable keys. Used on the thread of the event loop only.

    No client can remove the document of another: a full store rejects new documents. A client with its share of the
    store loses the oldest of its own documents that were downloaded.
    """

    def __init__(
        self,
        *,
        seconds: float = 1800.0,
        max_documents: int = 128,
        max_bytes: int = 256 * _MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._max_documents, self._max_bytes = seconds, max_documents, max_bytes
        self._clock = clock
        self._documents: dict[str, StoredDocument] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def make_room(self, size: int, owner: bytes) -> None:
        """Make room for a document of a client, or raise `Overloaded`."""
        if size > self._max_bytes * _OWNER_SHARE:
            raise Overloaded(
                f"the translated document must have at most {self._max_bytes * _OWNER_SHARE:,.0f} bytes to be stored, "
                f"got {size:,}; {_DIRECTLY}"
            )
        self._delete_expired()
        for key, each in list(self._documents.items()):  # the oldest first
            if self._has_room(size, owner):
                return
            if each.owner == owner and each.is_downloaded:
                del self._documents[key]
        if not self._has_room(size, owner):
            wait = min(each.until for each in self._documents.values()) - self._clock()
            raise Overloaded(
                f"the server must have room for the document, got none for {math.ceil(wait / 60)} minutes; {_DIRECTLY}",
                retry_after=wait,
            )

    async def add(self, name: str, data: bytes, owner: bytes = b"") -> str:
        """Store a document of a client and return its key."""
        self.make_room(len(data), owner)
        shown = plain_name(name)
        key = f"{secrets.token_urlsafe(24)}.{shown}"
        document = self._documents[key] = StoredDocument(shown, len(data), owner, self._clock() + self._seconds)
        try:
            await asyncio.to_thread(document.write, data)
        except OSError:
            del self._documents[key]
            raise Overloaded(f"the server must have disk space for the document, got none; {_DIRECTLY}") from None
        except BaseException:
            self._documents.pop(key, None)
            raise
        return key

    def get(self, key: str) -> StoredDocument | None:
        """Return the document of a key, unless it has expired."""
        self._delete_expired()
        return self._documents.get(key)

    def close(self) -> None:
        """Delete all documents."""
        self._documents.clear()

    def _has_room(self, size: int, owner: bytes) -> bool:
        own = [each.size for each in self._documents.values() if each.owner == owner]
        total = sum(each.size for each in self._documents.values())
        return (
            len(self._documents) < self._max_documents
            and total + size <= self._max_bytes
            and len(own) < max(1, self._max_documents * _OWNER_SHARE)
            and sum(own) + size <= self._max_bytes * _OWNER_SHARE
        )

    def _delete_expired(self) -> None:
        now = self._clock()
        self._documents = {key: each for key, each in self._documents.items() if each.until > now}


def plain_name(name: str) -> str:
    """Return a file name without folders, of letters, digits, dots, - and _."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("_", last).lstrip(".")[-_MAX_NAME:] or "document"
