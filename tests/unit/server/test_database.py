"""Usage is added up over all servers of a database, and no count is lost or doubled."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.server import database as module
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.settings import ServerSettings
from dragoman.storage.database import Database
from tests.server.asgi_calls import Caller

BODY = {"q": "Two dogs", "source": "en", "target": "de"}


def count(usage: Usage, owner: str, characters: int) -> None:
    async def run() -> None:
        usage.count(owner, characters=characters)

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
    monkeypatch.setattr(module, "_today", lambda: "2100-01-01")
    assert usage.total("") == 0
    monkeypatch.undo()
    assert usage.total("") == 5


def test_usage_by_month_becomes_usage_by_day(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Database.open(database_url)) as database, database.write() as connection:
        connection.exec_driver_sql("DROP TABLE usage_days")
        connection.exec_driver_sql("CREATE TABLE usage (owner VARCHAR(64), month VARCHAR(7), characters BIGINT)")
        connection.exec_driver_sql("INSERT INTO usage VALUES ('anna', '2100-01', 7)")
        connection.exec_driver_sql("UPDATE schema_version SET version = 3")
    monkeypatch.setattr(module, "_today", lambda: "2100-01-20")
    with contextlib.closing(ServerDatabase(database_url)) as opened:
        assert Usage(opened).total("anna") == 7


def test_weeks_are_from_monday_to_sunday(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(ServerDatabase(database_url)) as database:
        usage = Usage(database)
        for day in ("2026-11-08", "2026-11-09", "2026-11-15", "2026-11-16"):
            monkeypatch.setattr(module, "_today", lambda day=day: day)
            count(usage, "anna", 5)
        count(usage, "ben", 1)
        found = [(each["week"], each["characters"]) for each in usage.weeks("anna", 3)]
        assert found == [("2026-11-02", 5), ("2026-11-09", 10), ("2026-11-16", 5)]


def test_what_cannot_be_written_is_kept(tmp_path: Path) -> None:
    database = ServerDatabase(f"sqlite:///{tmp_path / 'data.db'}")
    usage = Usage(database)
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE usage_days RENAME TO hidden")
    count(usage, "", 5)
    with pytest.raises(DataError):
        usage.write()
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE hidden RENAME TO usage_days")
    assert usage.total("") == 5
    database.close()


def test_counts_are_written_within_seconds_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FLUSH_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path / 'data.db'}"

    def stored() -> int:
        with contextlib.closing(ServerDatabase(url)) as database:
            return Usage(database).total("")

    async def run() -> None:
        usage.count("", characters=5)
        await asyncio.sleep(0.5)

    with contextlib.closing(ServerDatabase(url)) as database:
        usage = Usage(database)
        asyncio.run(run())
        assert stored() == 5
    call = Caller(settings=ServerSettings(database=url))
    assert call.post("/translate", json=BODY).status_code == 200
    call.app.close()
    assert stored() == 13
