"""A PostgreSQL server of the system's package, on a socket, with a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = Path("/usr/lib/postgresql")


@contextlib.contextmanager
def postgresql_server(*, fsync: bool = True) -> Iterator[str]:
    """Start a server, without TCP, and yield the address of its first database."""
    bin_ = max(PROGRAMS.glob("*/bin/initdb")).parent
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a path of a socket must be short
    if as_user:
        shutil.chown(folder, "postgres")
    data, options = folder / "data", f"-k {folder} -h '' -c fsync={'on' if fsync else 'off'}"

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
