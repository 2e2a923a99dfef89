"""Translate uploaded documents in the background; clients poll the status and download the result."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from dragoman.errors import DragomanError
from dragoman.server.errors import NotFound, Overloaded, RateLimited
from dragoman.server.http.problem_details import problem_for
from dragoman.server.pipeline.documents import TranslatedDocument
from dragoman.server.routes.download_store import DownloadStore, StoredDocument

__all__ = ["DocumentJob", "DocumentJobs"]

_log = logging.getLogger(__name__)

JobStatus = Literal["translating", "done", "error"]
_UNKNOWN = "the document must exist, got an unknown id or key; documents are kept for half an hour"
_MIB = 1 << 20
_RETRY_SECONDS = 5.0


@dataclass
class DocumentJob:
    """A document whose translation is running or finished."""

    id: str
    key: str
    """Secret that allows the download."""
    created: float
    owner: bytes = b""
    size: int = 0
    """Bytes of the uploaded document, which is in memory until it is translated."""
    status: JobStatus = "translating"
    characters: int = 0
    error: str = ""
    download: str = ""
    """Key of the translation in the `DownloadStore`."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class DocumentJobs:
    """Jobs by id; finished ones are forgotten after `seconds`.

    At most `max_jobs` are kept, and the documents in progress have at most `max_bytes`; half of both per owner.
    """

    def __init__(
        self,
        downloads: DownloadStore,
        *,
        seconds: float = 1800.0,
        max_jobs: int = 100,
        max_bytes: int = 80 * _MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._downloads, self._seconds, self._clock = downloads, seconds, clock
        self._max_jobs, self._max_own_jobs = max_jobs, -(-max_jobs // 2)
        self._max_bytes, self._max_own_bytes = max_bytes, max_bytes // 2
        self._jobs: dict[str, DocumentJob] = {}

    def start(
        self,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
        owner: bytes = b"",
        size: int = 0,
    ) -> DocumentJob:
        """Start to translate, after `make_room`; `name` returns the name of the translation, given its language."""
        job = DocumentJob(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), self._clock(), owner, size)
        job.task = asyncio.create_task(self._run(job, work, name, owner))
        self._jobs[job.id] = job
        return job

    def get(self, id_: str, key: str) -> DocumentJob:
        """Return a job; raises `NotFound` without its key."""
        job = self._jobs.get(id_)
        if job is None or not hmac.compare_digest(job.key.encode(), key.encode("utf-8", "surrogatepass")):
            raise NotFound(_UNKNOWN)
        return job

    def result(self, job: DocumentJob) -> StoredDocument:
        """Return the translation of a finished job; raises `Overloaded` while it is running."""
        if job.status == "translating":
            raise Overloaded("the document must be translated to be downloaded, got one in progress", retry_after=1.0)
        found = self._downloads.get(job.download) if job.download else None
        if found is None:
            raise NotFound(job.error or _UNKNOWN)
        return found

    async def _run(
        self,
        job: DocumentJob,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
        owner: bytes,
    ) -> None:
        try:
            done = await work
            job.download = await self._downloads.add(name(done.language), done.data, owner)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 -- the client reads it in the status
            job.status, job.error = "error", problem_for(error)["detail"]
            if not isinstance(error, DragomanError | asyncio.CancelledError):
                _log.error("a document could not be translated: %s", type(error).__name__)
        else:
            job.status, job.characters = "done", done.characters

    def make_room(self, owner: bytes = b"", size: int = 0) -> None:
        """Forget old jobs, and if there are too many, the oldest finished one of the owner.

        Raises `RateLimited` if the owner has its share of the documents in progress, `Overloaded` if the server has no
        room for another. To be called before anything is reserved for a job.
        """
        now = self._clock()
        for job in [each for each in self._jobs.values() if each.status != "translating"]:
            if job.created + self._seconds <= now:
                del self._jobs[job.id]
        own = [each for each in self._jobs.values() if each.owner == owner]
        self._check_bytes(own, size)
        if len(own) < self._max_own_jobs and len(self._jobs) < self._max_jobs:
            return
        if oldest := next((each for each in own if each.status != "translating"), None):
            del self._jobs[oldest.id]
        elif len(own) >= self._max_own_jobs:
            raise _share_used(f"{self._max_own_jobs:,} documents in progress", "another")
        else:
            raise _server_full(f"{self._max_jobs:,} documents", "another")

    def _check_bytes(self, own: Iterable[DocumentJob], size: int) -> None:
        if _bytes_in_progress(own) + size > self._max_own_bytes:
            raise _share_used(f"{self._max_own_bytes:,} bytes of documents in progress", f"{size:,} more")
        if _bytes_in_progress(self._jobs.values()) + size > self._max_bytes:
            raise _server_full(f"{self._max_bytes:,} bytes of documents in progress", f"{size:,} more")


def _bytes_in_progress(jobs: Iterable[DocumentJob]) -> int:
    return sum(each.size for each in jobs if each.status == "translating")


def _share_used(limit: str, got: str) -> RateLimited:
    return RateLimited(
        f"a client must have at most {limit}, got {got}; wait until one of yours is translated",
        retry_after=_RETRY_SECONDS,
    )


def _server_full(limit: str, got: str) -> Overloaded:
    return Overloaded(
        f"the server must have at most {limit} of all clients, got {got}; try again later", retry_after=_RETRY_SECONDS
    )
