"""SIGTERM under load: admitted requests get responses, and `/readyz` fails at once."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, field

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Connection, ConnectionLost

CLIENTS = 6
READY = 0.1  # seconds
DRAIN = 20.0


@dataclass
class DrainOutcome:
    """Outcomes of requests around one signal."""

    at: float = 0.0
    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    unready: float | None = None


def draining(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a server that ends at once."""
    result = _run(environment, environment.scaled(1, 50), environment.pace)
    control = _run(environment, environment.scaled(1, 3), ",".join(filter(None, (environment.pace, "no_drain"))))
    result.set_control("a server that ends at once", control)
    return result


def _run(environment: Environment, count: int, fault: str) -> ExperimentResult:
    result, draw = ExperimentResult("drain"), random.Random(environment.seed)
    slowest, lost, codes, answered = 0.0, [], set(), 0
    for _ in range(count):
        # In CI, /readyz must fail before the server stops listening; the time is measured by the full version only.
        settings = {"drain_notice": 3.0 if environment.is_small else 0.5, "drain_seconds": DRAIN, "log": "off"}
        with environment.served(environment.bundle(), fault=fault, **settings) as server:
            drained = asyncio.run(_signal(server, environment, draw.uniform(0.3, 0.8)))
            codes.add(server.process.wait(timeout=DRAIN + 60))
        slowest = max(slowest, float("inf") if drained.unready is None else drained.unready)
        lost += drained.lost
        answered += drained.answered
    result.trials = count
    result.facts = {"answered": answered, "codes": sorted(codes), "lost": lost[:5]}
    result.target("requests sent before the signal that were lost", "0", str(len(lost)), not lost)
    most = DRAIN if environment.is_small else READY
    result.target("latest 503 of /readyz, s after the signal", f"≤ {most:g}", f"{slowest:.3f}", slowest <= most)
    result.target("exit code", "0", str(sorted(codes)), codes == {0})
    return result


async def _signal(server: Server, environment: Environment, after: float) -> DrainOutcome:
    """Send requests without a pause, then the signal."""
    drained, texts = DrainOutcome(), environment.texts(environment.scaled(24, 64), 4, 20)
    clients = [asyncio.create_task(_client(server, drained, texts[n::CLIENTS])) for n in range(CLIENTS)]
    watching = asyncio.create_task(_watch(server, drained))
    await asyncio.sleep(after)
    drained.at = time.perf_counter()
    server.terminate()
    await asyncio.wait_for(asyncio.gather(*clients, watching), DRAIN + 60)
    return drained


async def _client(server: Server, drained: DrainOutcome, texts: list[str]) -> None:
    """Send requests until the server has ended."""
    body = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
    while drained.unready is None and (not drained.at or time.perf_counter() < drained.at + DRAIN):
        sent = time.perf_counter()
        try:
            connection = await Connection.open(server.port)
            reply = await connection.request("POST", "/translate", body)
            connection.close()
        except OSError:
            return
        except ConnectionLost as error:
            if not drained.at or sent < drained.at:
                drained.lost.append(str(error))
            return
        drained.answered += reply.status == 200
        drained.refused += reply.status == 503
        if reply.status not in (200, 503) or (reply.status == 503 and (not drained.at or sent < drained.at)):
            drained.lost.append(f"{reply.status}: {reply.body[:100]!r}")
        if reply.status != 200:
            return


async def _watch(server: Server, drained: DrainOutcome) -> None:
    """Poll `/readyz` on new connections until it fails."""
    while not drained.at or time.perf_counter() < drained.at + DRAIN:
        try:
            connection = await Connection.open(server.port)
            status = (await connection.request("GET", "/readyz")).status
            connection.close()
        except (OSError, ConnectionLost):
            return
        if status == 503 and drained.at:
            drained.unready = time.perf_counter() - drained.at
            return
        await asyncio.sleep(0.005)
