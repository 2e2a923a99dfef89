"""Two servers behind nginx under load: one is killed, one is drained, both are started again.

The configuration is deploy/nginx/replicas.conf with other ports and without TLS. Clients compare every translation with
that of a single server. Control: the same kill with `proxy_next_upstream off`.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.serving.process import ROOT, Server, dragoman_serve, end_on_sigterm, free_port
from testkit.http_client import Connection, ConnectionLost
from testkit.http_load import percentile

CONFIG = ROOT / "deploy/nginx/replicas.conf"
RETRY = "proxy_next_upstream error timeout http_503 non_idempotent;"
DRAIN_NOTICE = 1.0  # seconds in which a server still accepts requests after SIGTERM
EXTRA = 0.001  # seconds to wait for a second response
TEXTS = [
    f"{who} {what} {where}."
    for who in ("A man", "Two dogs", "The old woman")
    for what in ("plays with a ball", "is standing", "runs fast", "eats an apple")
    for where in ("in the snow", "near a river", "on the street")
]


@dataclass
class Phase:
    """Requests sent in a part of the experiment."""

    name: str
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    doubled: int = 0
    wrong: int = 0
    streams: int = 0
    cut_streams: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return counts and latencies in milliseconds."""
        ordered = sorted(self.latencies) or [0.0]
        return {
            "phase": self.name,
            "seconds": round(self.seconds, 1),
            "requests": len(self.latencies) + len(self.failed),
            "failed": len(self.failed),
            "doubled": self.doubled,
            "wrong": self.wrong,
            "p50_ms": round(1000 * percentile(ordered, 0.5), 1),
            "p99_ms": round(1000 * percentile(ordered, 0.99), 1),
            "max_ms": round(1000 * ordered[-1], 1),
            "streams": self.streams,
            "cut_streams": self.cut_streams,
            "first_failures": self.failed[:3],
        }


class Replicas:
    """Two servers and nginx in a scratch folder."""

    def __init__(self, bundle: Path, folder: Path, *, retries: bool) -> None:
        self._bundle, self._folder = bundle, folder
        self.ports = [free_port(), free_port()]
        self.port = free_port()
        self.servers = [self._start(0), self._start(1)]
        for server in self.servers:
            server.wait_until_ready()
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, self.port, self.ports, retries=retries), encoding="utf-8")
        self._nginx = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(config), "-g", "daemon off;"])
        self._wait_for_nginx()

    def _start(self, number: int) -> Server:
        settings = {"threads": 1, "drain_notice": DRAIN_NOTICE, "log": "off"}
        command = dragoman_serve([f"en-de={self._bundle}"], self.ports[number], settings)
        return Server(command, self.ports[number], self._folder / f"server-{number}.log")

    def _wait_for_nginx(self) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with socket_to(self.port) as is_open:
                if is_open:
                    return
            time.sleep(0.05)
        raise TimeoutError("nginx does not listen")

    def restart(self, number: int) -> None:
        """Start a server that has ended, and wait until it is ready."""
        self.servers[number] = self._start(number)
        self.servers[number].wait_until_ready()

    def retries(self) -> int:
        """Return the number of requests that nginx sent to both servers."""
        lines = (self._folder / "access.log").read_text(encoding="utf-8").splitlines()
        return sum("," in line for line in lines)

    def close(self) -> None:
        """Stop nginx and the servers."""
        self._nginx.terminate()
        self._nginx.wait()
        for server in self.servers:
            server.stop()


@contextmanager
def socket_to(port: int) -> Iterator[bool]:
    """Yield whether a process listens on a port of this machine."""
    with socket.socket() as probe:
        yield probe.connect_ex(("127.0.0.1", port)) == 0


def nginx_config(folder: Path, port: int, servers: list[int], *, retries: bool) -> str:
    """Return the deployed configuration with other ports, without TLS, and with its files in a folder."""
    part = CONFIG.read_text(encoding="utf-8")
    changes = {"listen 443 ssl;": f"listen 127.0.0.1:{port};", "127.0.0.1:5001": f"127.0.0.1:{servers[0]}"}
    changes |= {"127.0.0.1:5002": f"127.0.0.1:{servers[1]}", RETRY: RETRY if retries else "proxy_next_upstream off;"}
    for old, new in changes.items():
        assert part.count(old) == 1, old
        part = part.replace(old, new)
    part = "\n".join(line for line in part.splitlines() if not line.strip().startswith("ssl_"))
    paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{name}_temp_path {folder}/{name};" for name in paths)
    user = (
        f"user {getpass.getuser()};\n" if os.geteuid() == 0 else ""
    )  # a worker of another user cannot read the folder
    return (
        f"{user}worker_processes 1;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\n"
        f'{temporary}\nlog_format upstream "$status $upstream_addr";\naccess_log {folder}/access.log upstream;\n'
        f"{part}\n}}\n"
    )


class Load:
    """Clients that send requests without a pause through nginx."""

    def __init__(self, port: int, expected: dict[str, str]) -> None:
        self._port = port
        self._expected = expected
        self.phases: list[Phase] = []
        self._since = 0.0
        self.is_over = False

    def begin(self, name: str) -> None:
        """Begin a phase; requests belong to the phase in which they are sent."""
        now = time.perf_counter()
        if self.phases:
            self.phases[-1].seconds = now - self._since
        self._since = now
        self.phases.append(Phase(name))

    def end(self) -> None:
        """Let the clients finish."""
        self.phases[-1].seconds = time.perf_counter() - self._since
        self.is_over = True

    async def client(self, first: int) -> None:
        """Send one text after the other, and check each response."""
        number, connection = first, None
        while not self.is_over:
            text, phase, sent = TEXTS[number % len(TEXTS)], self.phases[-1], time.perf_counter()
            number += 1
            try:
                if connection is None or not connection.is_open:
                    connection = await Connection.open(self._port)
                reply = await connection.request("POST", "/translate", {"q": text, "source": "en", "target": "de"})
            except (OSError, ConnectionLost) as error:
                phase.failed.append(f"{type(error).__name__}: {error}")
                connection = None
                continue
            if reply.status != 200:
                phase.failed.append(f"status {reply.status}")
                continue
            phase.latencies.append(time.perf_counter() - sent)
            phase.wrong += reply.json()["translatedText"] != self._expected[text]
            phase.doubled += await has_more(connection)
        if connection is not None:
            connection.close()

    async def stream(self) -> None:
        """Read one stream after the other; a stream that a server began cannot continue on the other one."""
        number = 0
        while not self.is_over:
            text, phase = TEXTS[number % len(TEXTS)], self.phases[-1]
            number += 1
            try:
                connection = await Connection.open(self._port)
                body = {"text": text, "source": "en", "target": "de", "stream": True}
                reply = await connection.request("POST", "/v1/translate", body)
                connection.close()
            except (OSError, ConnectionLost):
                phase.cut_streams += 1
                continue
            if reply.status == 200 and reply.body.count(b"event: done") == 1:
                phase.streams += 1
            else:
                phase.cut_streams += 1


async def has_more(connection: Connection) -> bool:
    """Return whether the server sent another response."""
    if not connection.is_open:
        return False
    try:
        more = await asyncio.wait_for(connection.reader.read(1), EXTRA)
    except TimeoutError:
        return False
    if not more:  # closed
        connection.close()
    return bool(more)


async def translations(port: int) -> dict[str, str]:
    """Return what one server translates each text to."""
    connection = await Connection.open(port)
    found = {}
    for text in TEXTS:
        reply = await connection.request("POST", "/translate", {"q": text, "source": "en", "target": "de"})
        found[text] = reply.json()["translatedText"]
    connection.close()
    return found


async def experiment(replicas: Replicas, *, seconds: float, clients: int, only_kill: bool = False) -> dict[str, Any]:
    """Run all phases; each lasts at least some seconds."""
    load = Load(replicas.port, await translations(replicas.ports[0]))
    load.begin("two servers")
    tasks = [asyncio.create_task(load.client(7 * number)) for number in range(clients)]
    tasks.append(asyncio.create_task(load.stream()))
    found: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 1)}
    try:
        await asyncio.sleep(seconds)
        load.begin("first server killed (SIGKILL)")
        replicas.servers[0].stop()
        await asyncio.sleep(seconds)
        if not only_kill:
            load.begin("first server starts again")
            await asyncio.to_thread(replicas.restart, 0)
            await asyncio.sleep(seconds)
            load.begin("second server drains (SIGTERM)")
            began = time.perf_counter()
            replicas.servers[1].terminate()
            found["exit_code"] = await asyncio.to_thread(replicas.servers[1].process.wait)
            found["drain_seconds"] = round(time.perf_counter() - began, 2)
            load.begin("second server starts again")
            await asyncio.to_thread(replicas.restart, 1)
            await asyncio.sleep(seconds)
    finally:
        load.end()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0.1)  # connections are closed by the event loop
    return found | {"phases": [phase.to_json() for phase in load.phases], "retried": replicas.retries()}


def run(bundle: Path, *, seconds: float, clients: int, retries: bool = True) -> dict[str, Any]:
    """Start servers and nginx, run the experiment, and stop them; without retries only the kill."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-replicas-")))
        replicas = Replicas(bundle, folder, retries=retries)
        held.callback(replicas.close)
        return asyncio.run(experiment(replicas, seconds=seconds, clients=clients, only_kill=not retries))


def total(found: dict[str, Any], name: str) -> int:
    """Return the sum of a count over all phases."""
    return sum(phase[name] for phase in found["phases"])


def page(found: dict[str, Any], control: dict[str, Any], *, seconds: float, clients: int) -> str:
    """Return the result page."""
    columns = ["phase", "s", "requests", "failed", "doubled", "wrong", "p50 ms", "p99 ms", "max ms", "streams", "cut"]
    keys = ["phase", "seconds", "requests", "failed", "doubled", "wrong", "p50_ms", "p99_ms", "max_ms", "streams"]
    rows = [[f"{phase[key]}" for key in (*keys, "cut_streams")] for phase in found["phases"]]
    lost = control["phases"][-1]["failed"]
    cut = total(found, "cut_streams")
    command = f"python -m benchmarks.replicas --bundle BUNDLE --seconds {seconds:g} --clients {clients}"
    return (
        reporting.heading("Two servers behind nginx", command, 1)
        + f"\n{clients} clients send single sentences without a pause, one more reads streams, through nginx with "
        "[deploy/nginx/replicas.conf](../../deploy/nginx/replicas.conf) (other ports, no TLS) to two servers with one "
        "thread each. Failed: no response, or another status than 200. Doubled: a second response to one request. "
        "Wrong: another translation than that of a single server. The load average of the machine was "
        f"{found['load_before']} before; latencies depend on it, the counts do not.\n\n"
        + reporting.table(columns, rows)
        + f"\nAll phases: {total(found, 'requests')} requests, {total(found, 'failed')} failed, "
        f"{total(found, 'doubled')} doubled, {total(found, 'wrong')} wrong; nginx sent {found['retried']} requests to "
        f"the second server after the first. The drained server ended after {found['drain_seconds']} s with exit code "
        f"{found['exit_code']}. A stream of a killed server is cut: nginx cannot repeat a response that has begun; "
        f"{cut} of {total(found, 'streams') + cut} streams were cut.\n\n"
        f"Control: with `proxy_next_upstream off`, {lost} of {control['phases'][-1]['requests']} requests failed after "
        "the kill.\n"
    )


def main() -> None:
    """Run the command."""
    options = reporting.parser(__doc__)
    options.add_argument("--bundle", type=Path, required=True, help="trained bundle, en→de")
    options.add_argument("--seconds", type=float, default=4.0, help="shortest duration of a phase")
    options.add_argument("--clients", type=int, default=4)
    chosen = options.parse_args()
    if not shutil.which("nginx"):
        options.error("nginx must be installed; on Debian: apt install nginx")
    end_on_sigterm()
    settings = {"seconds": chosen.seconds, "clients": chosen.clients}
    found = run(chosen.bundle.resolve(), **settings)
    control = run(chosen.bundle.resolve(), **settings, retries=False)
    text = page(found, control, **settings)
    reporting.write("replicas", text, {"settings": settings, "measured": found, "control": control})


if __name__ == "__main__":
    main()
