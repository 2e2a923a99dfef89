"""Usage is added up over all servers of a database, and no count is lost or doubled."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.server import database as module
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller

BODY = {"q": "Two dogs", "source": "en", "target": "de"}


def count(usage: Usage, owner: str, characters: int) -> None:
    async def run() -> None:
        usage.count(owner, characters)

    asyncio.run(run())


def test_two_servers_add_up(database_url: str) -> None:
    databases = [ServerDatabase(database_url) for _ in range(2)]
    one, two = map(Usage, databases)
    count(one, "anna", 5)
    count(one, "ben", 1)
    count(two, "anna", 2)
    one.write()
    assert [two.total("anna"), one.total("anna"), one.total("ben"), one.total("")] == [7, 7, 1, 0]
    for each in databases:
        each.close()


def test_a_month_begins_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = Usage(ServerDatabase(None))
    count(usage, "", 5)
    monkeypatch.setattr(module, "_month", lambda: "2100-01")
    assert usage.total("") == 0
    monkeypatch.undo()
    assert usage.total("") == 5


def test_what_cannot_be_written_is_kept(tmp_path: Path) -> None:
    database = ServerDatabase(f"sqlite:///{tmp_path / 'data.db'}")
    usage = Usage(database)
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE usage RENAME TO hidden")
    count(usage, "", 5)
    with pytest.raises(DataError):
        usage.write()
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE hidden RENAME TO usage")
    assert usage.total("") == 5
    database.close()


def test_counts_are_written_within_seconds_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FLUSH_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path / 'data.db'}"

    def stored() -> int:
        with contextlib.closing(ServerDatabase(url)) as database:
            return Usage(database).total("")

    async def run() -> None:
        usage.count("", 5)
        await asyncio.sleep(0.5)

    with contextlib.closing(ServerDatabase(url)) as database:
        usage = Usage(database)
        asyncio.run(run())
        assert stored() == 5
    call = Caller(settings=ServerSettings(database=url))
    assert call.post("/translate", json=BODY).status_code == 200
    call.app.close()
    assert stored() == 13
