"""A server in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def running_server(*bundles: Path) -> Iterator[str]:
    """Run ``dragoman serve`` with bundles, and yield its address."""
    command = [sys.executable, "-m", "dragoman", "serve", "--port", "0", "--threads", "1", "--beam", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DRAGOMAN_LIMITS_SECONDS": "300", "DRAGOMAN_DATABASE": "memory"}
    with subprocess.Popen(
        [*command, "--log", "off", *map(str, bundles)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            yield _address(process.stdout)
        finally:
            process.terminate()
            process.wait(30)


def _address(output: IO[str]) -> str:
    """Return the address that a server prints."""
    lines: list[str] = []
    for line in output:
        lines.append(line)
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("".join(lines))
