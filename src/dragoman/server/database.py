"""The database of a server: glossaries, usage, documents, and memories if its operator named one."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dragoman.errors import DragomanError
from dragoman.storage import sql
from dragoman.storage.database import IN_MEMORY, Database

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

_log = logging.getLogger(__name__)

_FLUSH_SECONDS = 1.0
_ADD = (
    "INSERT INTO usage (owner, month, characters) VALUES (:owner, :month, :characters) "
    "ON CONFLICT (owner, month) DO UPDATE SET characters = usage.characters + excluded.characters"
)


def now() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


class ServerDatabase:
    """A database that is opened at its first use; without an address, one in memory, which ends with the server."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self._opened: Database | None = None
        self._lock = threading.Lock()

    @property
    def opened(self) -> Database:
        """The database; documents whose time is over are deleted when it is opened."""
        with self._lock:
            if self._opened is None:
                self._opened = Database.open(self.url or IN_MEMORY)
                with self._opened.write() as connection:
                    connection.execute(sql.delete(sql.DOCUMENTS).where(sql.DOCUMENTS.c.until <= now()))
        return self._opened

    def read(self) -> AbstractContextManager[Connection]:
        return self.opened.read()

    def write(self) -> AbstractContextManager[Connection]:
        return self.opened.write()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class Usage:
    """Characters translated in each month, by name of the API key; the empty name without keys.

    They are added up for a second before they are written, so that a short request does not wait for the disk.
    """

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def count(self, owner: str, characters: int) -> None:
        """Add characters of a key. Called on the thread of the event loop."""
        with self._lock:
            self._waiting[owner, _month()] += characters
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() < loop.time():  # that of a loop that has ended, too
            self._timer = loop.call_later(_FLUSH_SECONDS, loop.run_in_executor, None, self._try_to_write)

    def total(self, owner: str) -> int:
        """Return the number of characters of a key in this month, over all servers of the database."""
        self.write()
        with self._database.read() as connection:
            query = sql.select(sql.USAGE.c.characters).where(sql.USAGE.c.owner == owner, sql.USAGE.c.month == _month())
            return int(connection.execute(query).scalar() or 0)

    def write(self) -> None:
        """Write what was counted; if that fails it is kept."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
        if not waiting:
            return
        rows = [{"owner": owner, "month": month, "characters": each} for (owner, month), each in waiting.items()]
        try:
            with self._database.write() as connection:
                connection.execute(sql.text(_ADD), sorted(rows, key=lambda row: (row["owner"], row["month"])))
        except BaseException:
            with self._lock:
                self._waiting += waiting
            raise

    def _try_to_write(self) -> None:
        try:
            self.write()
        except DragomanError as error:
            _log.warning("usage could not be written: %s", error)


def _month() -> str:
    return f"{datetime.now(UTC):%Y-%m}"
