"""Databases of the tests: SQLite, and a PostgreSQL server of the system if it is installed."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a server, without TCP, and return the address of its first database."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    bin_ = programs[-1].parent
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a path of a socket must be short
    if as_user:
        shutil.chown(folder, "postgres")
    data, options = folder / "data", f"-k {folder} -h '' -c fsync=off"

    def run(*command: object) -> None:
        subprocess.run([*as_user, *map(str, command)], check=True, capture_output=True, cwd="/", timeout=60)

    try:
        run(bin_ / "initdb", "-D", data, "-U", "dragoman", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        run(bin_ / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
        yield f"postgresql://dragoman@/postgres?host={folder}"
    finally:
        with contextlib.suppress(subprocess.SubprocessError):
            run(bin_ / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


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
