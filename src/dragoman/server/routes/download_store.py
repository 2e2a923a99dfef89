"""Store translated documents for download, in files without a name, until they expire.

The files are deleted from their folder when they are created: no other program can find or remove them, and nothing is
left on the disk if the process is killed.
"""

import asyncio
import os
import re
import secrets
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

from dragoman.server.errors import Overloaded, TooLarge

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME = 100  # characters
_MAX_SHARE = 0.5  # of all bytes, for one document
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
    """Documents by unguessable keys, the oldest first. Used on the thread of the event loop only.

    A full store drops documents that were downloaded, then those of the client whose documents have the most bytes, the
    oldest first. So no client prevents another from storing one, and one with less than others keeps its own. A small
    document counts as `max_bytes / max_documents`, because each has an open file.
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

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` if a document would be too large to be stored."""
        if size > (limit := int(self._max_bytes * _MAX_SHARE)):
            raise TooLarge(f"a document must have {limit:,} bytes at most to be stored, got {size:,}; {_DIRECTLY}")

    async def add(self, name: str, data: bytes, owner: bytes = b"") -> str:
        """Store a document of a client and return its key."""
        self.check_size(len(data))
        self._make_room(len(data), owner)
        shown = plain_name(name)
        key = f"{secrets.token_urlsafe(24)}.{shown}"
        document = self._documents[key] = StoredDocument(shown, len(data), owner, self._clock() + self._seconds)
        try:
            await asyncio.to_thread(document.write, data)
        except OSError:
            del self._documents[key]
            raise Overloaded(f"the server has no disk space for the document; {_DIRECTLY}") from None
        except BaseException:
            self._documents.pop(key, None)
            raise
        return key

    def get(self, key: str) -> StoredDocument | None:
        """Return the document of a key, unless it has expired."""
        self._delete_expired()
        return self._documents.get(key)

    def close(self) -> None:
        self._documents.clear()

    def _make_room(self, size: int, owner: bytes) -> None:
        """Drop documents until one of this size fits."""
        self._delete_expired()
        documents = self._documents
        sizes = {key: max(each.size, self._max_bytes // self._max_documents) for key, each in documents.items()}
        added = max(size, self._max_bytes // self._max_documents)
        while documents and sum(map(sizes.__getitem__, documents)) + added > self._max_bytes:
            ranks = rank_owners([(owner, added), *((each.owner, sizes[key]) for key, each in documents.items())])
            dropped = min(documents, key=lambda key: (not documents[key].is_downloaded, ranks[documents[key].owner]))
            del documents[dropped]

    def _delete_expired(self) -> None:
        now = self._clock()
        self._documents = {key: each for key, each in self._documents.items() if each.until > now}


def rank_owners(owned: Iterable[tuple[bytes, int]]) -> dict[bytes, int]:
    """Return the ranks of owners by the sum of their sizes, 0 for the largest; of equal ones, the first is lower."""
    totals: Counter[bytes] = Counter()
    for owner, size in owned:
        totals[owner] += size
    return {owner: rank for rank, (owner, _) in enumerate(totals.most_common())}


def plain_name(name: str) -> str:
    """Return a file name without folders, of letters, digits, dots, - and _."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("_", last).lstrip(".")[-_MAX_NAME:] or "document"
