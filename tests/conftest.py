"""Databases of the tests: SQLite, and a PostgreSQL server of the system if it is installed."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.postgresql import PROGRAMS, postgresql_server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a server and return the address of its first database."""
    if not list(PROGRAMS.glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with postgresql_server(fsync=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'data.db'}"
    import psycopg

    server: str = request.getfixturevalue("postgresql")
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.replace("/postgres?", f"/{name}?")
