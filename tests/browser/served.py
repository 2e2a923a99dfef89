"""A real server for tests of its page: ``dragoman serve`` in a process of its own, at a free port."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENT = ("--limits-seconds", "300", "--limits-queue-seconds", "120")
"""Flags of a server that must not reject a request because the machine is busy."""

_SAYS = "serving "
_SECONDS = 60


@contextmanager
def served(
    bundles: Mapping[str, Path],
    *flags: str,
    command: Sequence[str] = (sys.executable, "-m", "dragoman"),
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Serve bundles by name and return the address; the server's output is in the error if it fails.

    It ends by SIGTERM, as a supervisor would end it.
    """
    names = [f"{name}={folder}" for name, folder in bundles.items()]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    env |= {"DRAGOMAN_DATABASE": "memory", **(environment or {})}
    process = subprocess.Popen(
        [*command, "serve", *names, "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=env,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)


def _address(process: subprocess.Popen[str]) -> str:
    """Return the address; the output is read continuously, so that the server never blocks on it."""
    lines: list[str] = []
    late = threading.Timer(_SECONDS, process.kill)
    late.start()
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line.startswith(_SAYS):
            late.cancel()
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return line.removeprefix(_SAYS).strip()
    raise AssertionError(f"the server ended with {process.wait()}:\n{''.join(lines)}")
