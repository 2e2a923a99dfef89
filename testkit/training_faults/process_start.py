"""Start the command: in a new process, or as a fork of a process that has imported everything."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

ROOT = Path(__file__).parents[2]


class Started(Protocol):
    """A running command."""

    pid: int

    def ended(self, seconds: float = 0.0) -> int | None:
        """Its exit code, minus the signal where one ended it; None if it still runs after the timeout."""


class Start(Protocol):
    """Starts a command."""

    def __call__(self, arguments: Sequence[str], output: Path) -> Started:
        """Start ``dragoman ARGUMENTS``; its output is appended to a file."""


class CommandLine:
    """``python -m dragoman``, with a planted fault if one is named."""

    def __init__(self, fault: str = "") -> None:
        module = ["testkit.training_faults.planted_faults", fault] if fault else ["dragoman"]
        self._command = [sys.executable, "-m", *module]

    def __call__(self, arguments: Sequence[str], output: Path) -> Started:
        with output.open("ab") as file:
            return _Process(
                subprocess.Popen(
                    [*self._command, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    cwd=ROOT,
                    env=environment(),
                )
            )


class _Process:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def ended(self, seconds: float = 0.0) -> int | None:
        if not seconds:
            return self._process.poll()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None


class ForkServer:
    """Client of `testkit.training_faults.fork_server`, which forks commands one at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __call__(self, arguments: Sequence[str], output: Path) -> Started:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(output), *arguments]).encode() + b"\n")
        self._process.stdin.flush()
        return _Fork(int(self._process.stdout.readline()), self._process.stdout)


class _Fork:
    def __init__(self, pid: int, answers: IO[bytes]) -> None:
        self.pid = pid
        self._answers = answers
        self._code: int | None = None

    def ended(self, seconds: float = 0.0) -> int | None:
        if self._code is None and select.select([self._answers], [], [], seconds)[0]:
            self._code = int(self._answers.readline())
        return self._code


@contextlib.contextmanager
def fork_server(fault: str = "") -> Iterator[ForkServer]:
    """Run a fork server until the end of the block."""
    command = [sys.executable, "-m", "testkit.training_faults.fork_server", *([fault] if fault else [])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment(), bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield ForkServer(process)
        finally:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def environment() -> dict[str, str]:
    """One thread each: several run side by side."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "dumb"}
