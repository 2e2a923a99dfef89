"""Soak test of half an hour with mixed requests: memory, threads and descriptors must not grow."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from benchmarks.serving_campaign.hostile import warm_up
from benchmarks.serving_campaign.hostile_requests import HostileRequest, hostile_requests
from testkit.http_client import Connection, ConnectionLost, Pool, request_bytes

GROWTH = 0.05
WARMUP = 0.25  # of the samples
WINDOW = 0.2  # of the other samples: the medians of the first and last window are compared
CLIENTS = 6
SLACK = 4  # threads, descriptors: connections come and go


@dataclass(frozen=True)
class Sample:
    """Resources of the server at one time."""

    at: float
    memory: int
    threads: int
    descriptors: int


def soak(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a memory leak."""
    result = _run(environment, 1800.0, environment.scaled(300, 1 << 30), "")
    control = _run(
        environment, 30.0 if not environment.is_small else 1800.0, environment.scaled(200, 1 << 30), "memory_leak"
    )
    result.set_control("the server keeps 1 MB of each request", control)
    return result


def _run(environment: Environment, seconds: float, requests: int, fault: str) -> ExperimentResult:
    """Send mixed requests until the time is over or their number is reached."""
    result = ExperimentResult("soak")
    settings = {"limits.body_seconds": 2.0, "limits.request_tokens": 512, "beam": 2}
    with environment.shared(environment.bundle(), fault=fault, **settings) as server:
        samples, counts = asyncio.run(_load(server, environment, seconds, requests))
        result.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
    result.trials = sum(counts.values())
    memory = [round(sample.memory / 2**20, 1) for sample in samples][:: max(1, len(samples) // 60)]
    result.facts = {"seconds": samples[-1].at, "outcomes": counts, "memory_mib": memory}
    first, last = _windows(samples)
    growth = last.memory / first.memory - 1
    most = GROWTH * (2 if environment.is_small else 1)  # lazy loading takes longer than a few seconds
    result.target("memory grows after warming up by", f"< {most:.0%}", f"{growth:+.1%}", growth < most)
    more = last.threads - first.threads
    result.target("threads more", f"≤ {SLACK}", str(more), more <= SLACK)
    more = last.descriptors - first.descriptors
    result.target("descriptors more", f"≤ {SLACK}", str(more), more <= SLACK)
    bad = {status: count for status, count in counts.items() if status.startswith("5") and status not in ("501", "503")}
    result.target("5xx except 503", "0", str(sum(bad.values())), not bad)
    return result


def _windows(samples: list[Sample]) -> tuple[Sample, Sample]:
    """Return the median resources after the warm-up and at the end."""
    begin = int(WARMUP * len(samples))
    length = max(1, int(WINDOW * (len(samples) - begin)))
    return _median(samples[begin : begin + length]), _median(samples[-length:])


def _median(samples: list[Sample]) -> Sample:
    def of(name: str) -> int:
        return int(statistics.median(getattr(sample, name) for sample in samples))

    return Sample(samples[0].at, of("memory"), of("threads"), of("descriptors"))


async def _load(
    server: Server, environment: Environment, seconds: float, requests: int
) -> tuple[list[Sample], dict[str, int]]:
    """Run mixed clients, and sample the resources of the server."""
    await warm_up(server)
    began, samples, sampled = time.perf_counter(), list[Sample](), -1
    counts: dict[str, int] = {}

    def is_over() -> bool:
        return time.perf_counter() > began + seconds or sum(counts.values()) >= requests or not server.is_running

    clients = [asyncio.create_task(_client(server, environment, number, is_over, counts)) for number in range(CLIENTS)]
    while not all(client.done() for client in clients):
        await asyncio.sleep(0.01 if environment.is_small else 2.0)
        if server.is_running and sum(counts.values()) > sampled:  # each sample has had requests since the last
            sampled = sum(counts.values())
            samples.append(Sample(time.perf_counter() - began, server.memory, server.threads, server.descriptors))
    await asyncio.gather(*clients)
    return samples, counts


async def _client(
    server: Server, environment: Environment, number: int, is_over: Callable[[], bool], counts: dict[str, int]
) -> None:
    """Send requests of all kinds."""
    draw, pool = random.Random(number), Pool(server.port)
    texts = environment.texts(200, 2, 15, seed=number)
    bad = hostile_requests(1 << 30, 1000 + number)
    while not is_over():
        try:
            outcome = await asyncio.wait_for(_send(server, pool, draw, texts, bad), 60.0)
        except (OSError, ConnectionLost):
            outcome = "lost"
        except TimeoutError:
            outcome = "no answer"
        counts[outcome] = counts.get(outcome, 0) + 1
    pool.close()


async def _send(
    server: Server, pool: Pool, draw: random.Random, texts: list[str], bad: Iterator[HostileRequest]
) -> str:
    text, kind = draw.choice(texts), draw.random()
    body: dict[str, object] = {"text": text, "source": "en", "target": "de"}
    if kind < 0.5:
        reply = await pool.request("POST", "/translate", {"q": text, "source": "en", "target": "de"})
    elif kind < 0.65:
        options = {"alignments": True, "alternatives": 1, "text": [text, f"<b>{text}</b>"], "format": "html"}
        reply = await pool.request("POST", "/v1/translate", {**body, **options})
    elif kind < 0.75:
        reply = await pool.request("POST", "/v1/translate", {**body, "stream": True})
    elif kind < 0.8:
        reply = await pool.request("GET", draw.choice(["/languages", "/metrics", "/v1/models", "/", "/openapi.json"]))
    else:
        connection = await Connection.open(server.port)
        data = next(bad).data if kind < 0.9 else _streamed(body)
        try:
            await connection.send(data)
            await asyncio.sleep(draw.uniform(0, 0.05))
        finally:
            connection.abort()
        return "disconnected"
    return str(reply.status)


def _streamed(body: dict[str, object]) -> bytes:
    data = json.dumps({**body, "stream": True}).encode()
    return request_bytes("POST", "/v1/translate", data)
