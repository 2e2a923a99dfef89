"""Measure latency by load, and the overhead of an idle server for a single request."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from benchmarks.serving.offline import Offline
from benchmarks.serving.process import Server
from benchmarks.serving.task import CLIENTS, PATH, Task, body_of
from benchmarks.serving.wrk import saturate, write_script
from testkit.http_client import Connection
from testkit.http_load import Bodies, Tally, open_loop, percentile

LOADS = (0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
OVERHEAD_GOAL = 0.005
PAUSE = 2.0


def latency(task: Task, seconds: float, singles: int) -> dict[str, Any]:
    """Measure the capacity, then the latency at fractions of it; then pairs of single requests."""
    script = write_script(task.work / "wrk", PATH, task.bodies)
    engine = task.offline()
    try:
        with task.served() as server:
            saturate(server, script, CLIENTS, 2.0)
            capacity = saturate(server, script, CLIENTS, seconds).per_second
            print(f"capacity {capacity:.0f}/s", flush=True)
            loads = [_offered(server, task, capacity, share, seconds) for share in LOADS]
            idle = asyncio.run(_singles(server, engine, task, singles))
    finally:
        engine.stop()
    return {"capacity": capacity, "seconds": seconds, "loads": loads, "idle": idle, "why": engine.why}


def _offered(server: Server, task: Task, capacity: float, share: float, seconds: float) -> dict[str, float]:
    time.sleep(PAUSE)
    bodies = Bodies(PATH, task.bodies)
    tally = asyncio.run(open_loop(server.port, bodies, share * capacity, seconds))
    found = {"share": share, "offered": share * capacity, **figures(tally)}
    print(f"{share:.0%}: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()), flush=True)
    return found


def figures(tally: Tally) -> dict[str, float]:
    """Return the figures of one load."""
    times = tally.times(200)
    return {
        "requests": len(tally.outcomes),
        "answered": tally.count(200),
        "rejected": tally.count(503),
        "failed": len(tally.outcomes) - tally.count(200, 503),
        "per_second": tally.per_second,
        "p50": percentile(times, 0.5),
        "p99": percentile(times, 0.99),
        "client_lag": tally.lag,
    }


async def _singles(server: Server, engine: Offline, task: Task, count: int) -> dict[str, float]:
    """Measure single requests and the engine alone, interleaved; the order alternates from pair to pair."""
    connection = await Connection.open(server.port)
    texts = [task.texts[number % len(task.texts)] for number in range(count)]
    pairs = []
    for number, text in enumerate(texts):
        body = body_of(text, task.source, task.target)
        if number % 2:
            served = await _request(connection, body)
            alone = engine.translate([text])["seconds"]
        else:
            alone = engine.translate([text])["seconds"]
            served = await _request(connection, body)
        pairs.append((served, alone))
    connection.close()
    over = sorted(served - alone for served, alone in pairs)
    return {
        "pairs": count,
        "server_median": statistics.median(served for served, _ in pairs),
        "engine_median": statistics.median(alone for _, alone in pairs),
        "overhead_median": statistics.median(over),
        "overhead_p90": percentile(over, 0.9),
    }


async def _request(connection: Connection, body: bytes) -> float:
    began = time.perf_counter()
    reply = await connection.request("POST", PATH, body)
    assert reply.status == 200, reply
    return time.perf_counter() - began
