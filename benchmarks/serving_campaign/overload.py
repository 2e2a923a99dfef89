"""Overload: four times the capacity in an open loop; admitted requests wait a bounded time, the rest is rejected."""

from __future__ import annotations

import asyncio
import json
import time

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Connection
from testkit.http_load import Bodies, Tally, closed_loop, open_loop, percentile

TIMES = 4.0
SHED = 0.05
REJECT_FRACTION = 0.25  # of the median time of admitted requests, for a busy machine
GOODPUT = 0.9
PATH = "/translate"


def overload(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control without a queue limit."""
    seconds = float(environment.scaled(2, 60))
    result = _run(environment, seconds, is_bounded=True)
    control = _run(environment, float(environment.scaled(2, 15)), is_bounded=False)
    result.set_control("no limit of the queue", control)
    return result


def _run(environment: Environment, seconds: float, *, is_bounded: bool) -> ExperimentResult:
    result = ExperimentResult("overload")
    queue_seconds = 1.0 if environment.is_small else 2.0
    setting = queue_seconds if is_bounded else 10_000.0
    factor = environment.time_factor if is_bounded else 1.0
    recovery = float(environment.scaled(1, 5))
    texts = environment.texts(200, least=5, most=9)
    bodies = [json.dumps({"q": texts[n : n + 2], "source": "en", "target": "de"}).encode() for n in range(0, 200, 2)]
    what = Bodies(PATH, bodies)
    settings = {"limits.queue_seconds": setting, "log": "off"}
    with environment.served(environment.bundle(), fault=environment.pace, **settings) as server:
        capacity = asyncio.run(_capacity(server, what, environment))
        unloaded = asyncio.run(_unloaded(server, what, environment.scaled(20, 200)))
        tally = asyncio.run(open_loop(server.port, what, TIMES * capacity, seconds, patience=90.0))
        time.sleep(recovery)
        again = asyncio.run(_unloaded(server, what, environment.scaled(10, 50), 0.5))
        result.facts["running"] = server.is_running
    result.trials = len(tally.outcomes)
    result.facts |= {"capacity": capacity, "unloaded": unloaded, "seconds": seconds, "statuses": tally.statuses}
    result.facts |= {"client_lag": tally.lag}
    _compare_waits(result, tally, (queue_seconds + 2 * unloaded) * (1 + factor) / 2, factor)
    share, least = tally.per_second / capacity, GOODPUT / factor
    result.target("goodput, of capacity", f"≥ {least:.0%}", f"{share:.0%}", share >= least)
    others = len(tally.outcomes) - tally.count(200, 503)
    result.target("neither translated nor rejected", "0", str(others), not others)
    usual = 2 * unloaded * factor
    result.target(f"{recovery:.0f} s later, median, s", f"≤ {usual:.2f}", f"{again:.2f}", again <= usual)
    return result


def _compare_waits(result: ExperimentResult, tally: Tally, bound: float, factor: float) -> None:
    """Compare the waits of admitted and rejected requests with the targets; `factor` multiplies the time limits."""
    admitted = tally.times(200)
    rejections = sorted(each.ended - each.sent for each in tally.outcomes if each.status == 503)
    late = percentile(admitted, 0.99)
    result.target("p99 of the admitted, s", f"≤ {bound:.2f}", f"{late:.2f}", late <= bound)
    part, most = (0.99, SHED) if factor == 1.0 else (0.5, REJECT_FRACTION * percentile(admitted, 0.5))
    slow = percentile(rejections, part)
    result.target(f"p{100 * part:.0f} of the time to reject, s", f"≤ {most:.3g}", f"{slow:.3f}", slow <= most)
    result.facts["rejected_seconds"] = {str(part): percentile(rejections, part) for part in (0.5, 0.9, 0.99, 1.0)}
    silent = sum(each.status == 503 and each.retry_after is None for each in tally.outcomes)
    result.target("rejections without Retry-After", "0", str(silent), not silent)


async def _capacity(server: Server, what: Bodies, environment: Environment) -> float:
    """Return the throughput of a closed loop with few clients; a rejected request would make it too low."""
    clients = environment.scaled(4, 16)
    await closed_loop(server.port, what, clients, 1.0)
    tally = await closed_loop(server.port, what, clients, float(environment.scaled(1, 10)))
    assert tally.count(200) == len(tally.outcomes), tally.statuses
    return tally.per_second


async def _unloaded(server: Server, what: Bodies, count: int, share: float = 0.99) -> float:
    """Return p99, or another percentile, of single requests."""
    connection, times = await Connection.open(server.port), []
    for number in range(count):
        began = time.perf_counter()
        await connection.request("POST", PATH, what.bodies[number % len(what.bodies)])
        times.append(time.perf_counter() - began)
    connection.close()
    return percentile(sorted(times), share)
