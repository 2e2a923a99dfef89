"""Start, poll, measure and stop a server process."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PATH = os.pathsep.join([str(ROOT / "src"), str(ROOT)])  # the server of this tree, even if another one is installed
START_LIMIT = 120.0
TICK = os.sysconf("SC_CLK_TCK")


class StartError(Exception):
    """A server ended, or was not ready in time; the message has the end of its log."""


def end_on_sigterm() -> None:
    """Convert SIGTERM to an exception, so that started servers are stopped too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def dragoman_serve(
    bundles: Sequence[str], port: int, settings: Mapping[str, object], launcher: Sequence[str] = ("-m", "dragoman")
) -> list[str]:
    """Return the command line for settings; a dotted name is a setting of a table."""
    command = [sys.executable, *launcher, "serve", *bundles, "--port", str(port)]
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-").replace(".", "-")
        command += (
            [flag] if value is True else [flag.replace("--", "--no-", 1)] if value is False else [flag, str(value)]
        )
    return command


class Server:
    """A server in its own process group; its output is in a file."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log: Path,
        *,
        ready: str = "/readyz",
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> None:
        self.port, self.log, self._ready = port, log, ready
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": _PATH, **(env or {})},
                start_new_session=True,
            )

    def wait_until_ready(self, seconds: float = START_LIMIT) -> None:
        """Poll until the server is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise StartError(f"ended with {self.process.returncode}: {self.output[-2000:]}")
            if self.status(self._ready) == 200:
                return
            time.sleep(0.05)
        raise StartError(f"not ready after {seconds:.0f} s: {self.output[-2000:]}")

    def status(self, path: str, timeout: float = 5.0) -> int:
        """Return the status of a GET request; 0 without a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def get(self, path: str, timeout: float = 10.0) -> str:
        """Return the body of a GET request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of all threads, in nanosecond resolution if the kernel has it."""
        total = 0
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[0])
            except OSError:  # the thread has just ended
                continue
        return total / 1e9

    @property
    def waited_seconds(self) -> float:
        """CPU seconds of its child processes that have ended."""
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(after_name[13]) + int(after_name[14])) / TICK

    @property
    def has_running_threads(self) -> bool:
        """Whether a thread uses a core or waits for one."""
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            try:
                if path.read_text().rsplit(")", 1)[1].split()[0] == "R":
                    return True
            except OSError:  # the thread has just ended
                continue
        return False

    @property
    def memory(self) -> int:
        """Resident bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Stop the server and its child processes."""
        if self.is_running:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(
    bundles: Sequence[str],
    log: Path,
    settings: Mapping[str, object] | None = None,
    *,
    launcher: Sequence[str] = ("-m", "dragoman"),
    env: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run `dragoman serve` on a free port until the end of the block."""
    port = free_port()
    server = Server(dragoman_serve(bundles, port, settings or {}, launcher), port, log, env=env)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()
