"""Added latency of Ray Serve: one replica behind its proxy compared with the same application under uvicorn.

One client sends single sentences to both servers, interleaved; the order alternates from pair to pair.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.replicas import TEXTS
from benchmarks.serving.process import Server, dragoman_serve, end_on_sigterm, free_port
from testkit.http_client import Connection
from testkit.http_load import percentile

GOAL_MS = 15.0
WARM_UP = 20
BUSY = 1.0
"""Load average from which the page calls the machine busy."""


def started(bundle: Path, folder: Path, name: str, **settings: object) -> tuple[Server, float]:
    """Start a server; return it with the seconds until it is ready."""
    port = free_port()
    command = dragoman_serve([f"en-de={bundle}"], port, {"threads": 1, "log": "off", **settings})
    began = time.perf_counter()
    server = Server(command, port, folder / f"{name}.log")
    server.wait_until_ready()
    return server, time.perf_counter() - began


async def measure(ports: dict[str, int], requests: int) -> dict[str, list[float]]:
    """Return the seconds of each request, by server; all translations must be equal."""
    opened = {name: await Connection.open(port) for name, port in ports.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ports}
    for number in range(-WARM_UP, requests):
        body = {"q": TEXTS[number % len(TEXTS)], "source": "en", "target": "de"}
        answers = set()
        for name in sorted(opened, reverse=bool(number % 2)):
            connection = opened[name] if opened[name].is_open else await Connection.open(ports[name])
            opened[name] = connection
            began = time.perf_counter()
            reply = await connection.request("POST", "/translate", body)
            if number >= 0:
                seconds[name].append(time.perf_counter() - began)
            assert reply.status == 200, reply
            answers.add(reply.json()["translatedText"])
        assert len(answers) == 1, answers
    for connection in opened.values():
        connection.close()
    return seconds


def run(bundle: Path, requests: int) -> dict[str, Any]:
    """Start both servers, measure, and stop them."""
    load = os.getloadavg()[0]
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-ray-serve-")))
        servers, start = {}, {}
        for name, settings in (("uvicorn", {}), ("ray", {"on": "ray", "max_replicas": 1})):
            servers[name], start[name] = started(bundle, folder, name, **settings)
            held.callback(servers[name].stop)
        seconds = asyncio.run(measure({name: server.port for name, server in servers.items()}, requests))
        stop = {}
        for name, server in servers.items():
            began = time.perf_counter()
            server.terminate()
            stop[name] = (server.process.wait(60), time.perf_counter() - began)
    added = sorted(ray - plain for ray, plain in zip(seconds["ray"], seconds["uvicorn"], strict=True))
    return {
        "requests": requests,
        "load_before": round(load, 2),
        "load_after": round(os.getloadavg()[0], 2),
        "servers": {
            name: {
                "p50_ms": round(1000 * statistics.median(found), 2),
                "p99_ms": round(1000 * percentile(sorted(found), 0.99), 2),
                "start_seconds": round(start[name], 1),
                "stop_seconds": round(stop[name][1], 1),
                "exit_code": stop[name][0],
            }
            for name, found in seconds.items()
        },
        "added_p50_ms": round(1000 * statistics.median(added), 2),
        "added_p90_ms": round(1000 * percentile(added, 0.9), 2),
    }


def page(found: dict[str, Any]) -> str:
    """Return the result page."""
    keys = ("p50_ms", "p99_ms", "start_seconds", "stop_seconds", "exit_code")
    titles = {"uvicorn": "`dragoman serve`", "ray": "`dragoman serve --on ray`, one replica"}
    rows = [[titles[name], *(f"{server[key]}" for key in keys)] for name, server in found["servers"].items()]
    is_met = found["added_p50_ms"] <= GOAL_MS
    state = "busy: latencies are higher than on an idle one" if found["load_before"] > BUSY else "otherwise idle"
    command = f"python -m benchmarks.ray_serve --bundle BUNDLE --requests {found['requests']}"
    return (
        reporting.heading("Added latency of Ray Serve", command, 1)
        + f"\nOne client sends {found['requests']} single sentences to each of two servers with the same model and one "
        "thread, interleaved; all translations are equal. Both servers run at the same time, on the cores of one "
        f"machine, with the client. The load average was {found['load_before']} before and {found['load_after']} "
        f"after; the machine was {state}.\n\n"
        + reporting.table(["server", "p50 ms", "p99 ms", "start s", "stop s", "exit code"], rows)
        + f"\nPer pair of requests, Ray Serve adds {found['added_p50_ms']} ms at the median and "
        f"{found['added_p90_ms']} ms at the 90th percentile (goal: at most {GOAL_MS:g} ms at the median, "
        f"{'met' if is_met else 'not met'}): its proxy and the replica are two processes, which exchange every request "
        "and response. Starting includes Ray itself.\n"
    )


def main() -> None:
    """Run the command."""
    options = reporting.parser(__doc__)
    options.add_argument("--bundle", type=Path, required=True, help="trained bundle, en→de")
    options.add_argument("--requests", type=int, default=300)
    chosen = options.parse_args()
    end_on_sigterm()
    found = run(chosen.bundle.resolve(), chosen.requests)
    reporting.write("ray-serve", page(found), found)


if __name__ == "__main__":
    main()
