"""The database of a server: glossaries, usage, documents, and memories if its operator named one."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
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
    "INSERT INTO usage_days (owner, day, {names}) VALUES (:owner, :day, {values}) "
    "ON CONFLICT (owner, day) DO UPDATE SET {sums}"
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
    """What is counted each day (`COUNTED`), by name of the API key; the empty name without keys.

    They are added up for a second before they are written, so that a short request does not wait for the disk.
    """

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._waiting: Counter[tuple[str, str, str]] = Counter()
        """By name of the key, day, and what is counted."""
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def count(self, owner: str, **counted: int) -> None:
        """Add to the numbers of a key. Called on the thread of the event loop."""
        if not any(counted.values()):
            return
        with self._lock:
            for name, number in counted.items():
                self._waiting[owner, _today(), name] += number
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() < loop.time():  # that of a loop that has ended, too
            self._timer = loop.call_later(_FLUSH_SECONDS, loop.run_in_executor, None, self._try_to_write)

    def total(self, owner: str) -> int:
        """Return the number of characters of a key in this month, over all servers of the database."""
        self.write()
        with self._database.read() as connection:
            query = sql.select(sql.func.sum(sql.USAGE.c.characters)).where(
                sql.USAGE.c.owner == owner, sql.USAGE.c.day.startswith(_today()[:7])
            )
            return int(connection.execute(query).scalar() or 0)

    def weeks(self, owner: str, count: int) -> list[dict[str, str | int]]:
        """Return what was counted in the last weeks, the oldest first, each with its Monday."""
        self.write()
        monday = (today := date.fromisoformat(_today())) - timedelta(today.weekday())
        first = monday - timedelta(7 * (count - 1))
        found = {(first + timedelta(7 * each)).isoformat(): Counter[str]() for each in range(count)}
        with self._database.read() as connection:
            query = sql.select(sql.USAGE).where(sql.USAGE.c.owner == owner, sql.USAGE.c.day >= first.isoformat())
            for row in connection.execute(query).mappings():
                day = date.fromisoformat(row["day"])
                week = found.setdefault((day - timedelta(day.weekday())).isoformat(), Counter())
                week.update({name: row[name] for name in sql.COUNTED})
        return [{"week": week, **{name: counter[name] for name in sql.COUNTED}} for week, counter in found.items()]

    def write(self) -> None:
        """Write what was counted; if that fails it is kept."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
        if not waiting:
            return
        days = sorted({(owner, day) for owner, day, _ in waiting})  # in one order, so that no server waits for another
        rows = [
            {"owner": owner, "day": day, **{name: waiting[owner, day, name] for name in sql.COUNTED}}
            for owner, day in days
        ]
        names, values = (", ".join(f"{sign}{each}" for each in sql.COUNTED) for sign in ("", ":"))
        sums = ", ".join(f"{each} = usage_days.{each} + excluded.{each}" for each in sql.COUNTED)
        try:
            with self._database.write() as connection:
                connection.execute(sql.text(_ADD.format(names=names, values=values, sums=sums)), rows)
        except BaseException:
            with self._lock:
                self._waiting += waiting
            raise

    def _try_to_write(self) -> None:
        try:
            self.write()
        except DragomanError as error:
            _log.warning("usage could not be written: %s", error)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
