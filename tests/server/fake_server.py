"""Run a real server with a fake service in a separate process.

Run as a module it serves; `running` starts it so. It prints its address, and then a line for each place that is given
back, and each whose work is stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.server.access_log import set_up_logging
from dragoman.server.app import create_app
from dragoman.server.metrics import ServerMetrics
from dragoman.server.request_types import TranslationResult
from dragoman.server.run import new_event_loop  # type: ignore[attr-defined]
from dragoman.server.settings import ServerSettings
from dragoman.server.uvicorn_server import bind_socket, serve_until_signal
from tests.server.fake_service import FakeReservation, FakeService

ROOT = Path(__file__).parents[2]


class TellingReservation(FakeReservation):
    def cancel(self) -> None:
        super().cancel()
        print("cancelled", flush=True)

    def release(self, *, is_served: bool = False) -> None:
        print("left", flush=True)


@dataclass
class TellingService(FakeService):
    plant: str = ""
    """A fault that tests must find: `burn` takes three seconds of the processor, `die` ends the process.

    Work that does not end: `thread` blocks a thread for a minute, `stubborn` ignores its cancellation.
    """

    def admit(
        self, seconds: float | None = None, charge: Callable[[int], None] = lambda tokens: None
    ) -> FakeReservation:
        if self.plant == "die":
            os._exit(1)
        end = time.process_time() + 3.0
        while self.plant == "burn" and time.process_time() < end:
            pass
        return TellingReservation(super().admit(seconds).deadline, charge)

    async def translate_pair(self, *asked: Any) -> list[TranslationResult]:
        while self.plant == "stubborn":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
        if self.plant == "thread":
            await asyncio.to_thread(time.sleep, 60)
        return await super().translate_pair(*asked)


async def _serve(settings: ServerSettings, options: dict[str, Any]) -> None:
    fault = RuntimeError(options.pop("fault")) if "fault" in options else None
    service = TellingService(fault=fault, **options)
    app = create_app(service, settings, ServerMetrics(), set_up_logging(settings.log))
    bound, url = bind_socket(settings)
    with bound:
        await serve_until_signal(app, bound, service.reload, lambda: print(url, flush=True))


@dataclass
class RunningServer:
    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)
    """What it printed on stdout after its address."""
    log: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def cpu_seconds(self) -> float:
        """User and system time so far, from /proc."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(settings: dict[str, Any] | None = None, **options: Any) -> Iterator[RunningServer]:
    """A server with these settings, and a service with these options; it is killed at the end if it still runs."""
    given = json.dumps([{"port": 0} | (settings or {}), options])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.fake_server", given],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    server = RunningServer(process, process.stdout.readline().strip())
    readers = [
        threading.Thread(target=_collect, args=(stream, lines), daemon=True)
        for stream, lines in ((process.stdout, server.lines), (process.stderr, server.log))
    ]
    for reader in readers:
        reader.start()
    try:
        assert server.url, "".join(server.log)
        yield server
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
        process.stdout.close()
        process.stderr.close()


def exchange(server: RunningServer, data: bytes, *, seconds: float = 60.0) -> bytes:
    """Send raw bytes on a connection of its own, and return all that comes until it is closed."""
    with server.connect() as connection:
        connection.settimeout(seconds)
        received = b""
        try:
            connection.sendall(data)
            while chunk := connection.recv(65536):
                received += chunk
        except (ConnectionError, TimeoutError):
            pass
        return received


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something comes to hold within the time."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def _collect(stream: Any, lines: list[str]) -> None:
    for line in stream:
        lines += [line.rstrip("\n")]


if __name__ == "__main__":
    _settings, _options = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=new_event_loop) as _runner:
        _runner.run(_serve(ServerSettings.model_validate_json(json.dumps(_settings)), _options))
