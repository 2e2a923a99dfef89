"""Overload: four times what the server can do, in an open loop. Few wait, none waits long, the rest hear so at once."""

from __future__ import annotations

import asyncio
import json
import time

from benchmarks.serving.client import Connection
from benchmarks.serving.load import Bodies, Tally, closed_loop, open_loop, percentile
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["overload"]

TIMES = 4.0
QUEUE_SECONDS = 2.0
SHED = 0.05
SHED_SHARE = 0.25  # of the median time of those admitted: for a machine that does other work as well
GOODPUT = 0.9
RECOVERY = 5.0
PATH = "/translate"
CLIENTS = 16


def overload(room: Room) -> Row:
    """The row, and the same without a bound on the queue."""
    seconds = float(room.scaled(6, 60))
    row = _tried(room, seconds, QUEUE_SECONDS, room.patience)
    row.controlled("no bound on the queue", _tried(room, float(room.scaled(4, 15)), 10_000.0, 1.0))
    return row


def _tried(room: Room, seconds: float, queue_seconds: float, patience: float) -> Row:
    row = Row("overload")
    texts = room.texts(200, least=5, most=9)
    bodies = [json.dumps({"q": texts[n : n + 2], "source": "en", "target": "de"}).encode() for n in range(0, 200, 2)]
    what = Bodies(PATH, bodies)
    with room.served(room.bundle(), **{"limits.queue_seconds": queue_seconds, "log": "off"}) as server:
        capacity = asyncio.run(_capacity(server, what, room))
        unloaded = asyncio.run(_unloaded(server, what, room.scaled(20, 200)))
        tally = asyncio.run(open_loop(server.port, what, TIMES * capacity, seconds, patience=90.0))
        time.sleep(RECOVERY)
        again = asyncio.run(_unloaded(server, what, room.scaled(10, 50), 0.5))
        row.facts["running"] = server.is_running
    row.trials = len(tally.outcomes)
    row.facts |= {"capacity": capacity, "unloaded": unloaded, "seconds": seconds, "statuses": tally.statuses}
    row.facts |= {"client_lag": tally.lag}
    _judge(row, tally, capacity, unloaded, again, patience)
    return row


def _judge(row: Row, tally: Tally, capacity: float, unloaded: float, again: float, patience: float) -> None:
    """Compare with what was promised; `patience` is how many times as long it may take."""
    admitted, sheds = tally.times(200), sorted(each.ended - each.sent for each in tally.outcomes if each.status == 503)
    bound = (QUEUE_SECONDS + 2 * unloaded) * (1 + patience) / 2
    late = percentile(admitted, 0.99)
    row.target("p99 of the admitted, s", f"≤ {bound:.2f}", f"{late:.2f}", late <= bound)
    share = tally.per_second / capacity
    least = GOODPUT / patience
    row.target("goodput, of capacity", f"≥ {least:.0%}", f"{share:.0%}", share >= least)
    part, most = (0.99, SHED) if patience == 1.0 else (0.5, SHED_SHARE * percentile(admitted, 0.5))
    slow = percentile(sheds, part)
    row.target(f"p{100 * part:.0f} of the time to shed, s", f"≤ {most:.3g}", f"{slow:.3f}", slow <= most)
    row.facts["shed_seconds"] = {str(part): percentile(sheds, part) for part in (0.5, 0.9, 0.99, 1.0)}
    silent = sum(each.status == 503 and each.retry_after is None for each in tally.outcomes)
    row.target("sheds without Retry-After", "0", str(silent), not silent)
    others = len(tally.outcomes) - tally.count(200, 503)
    row.target("neither answered nor shed", "0", str(others), not others)
    usual = 2 * unloaded * patience
    row.target(f"{RECOVERY:.0f} s later, median, s", f"≤ {usual:.2f}", f"{again:.2f}", again <= usual)


async def _capacity(server: Server, what: Bodies, room: Room) -> float:
    """What it does when clients wait for their answers, few enough that none is shed."""
    await closed_loop(server.port, what, CLIENTS, 1.0)
    tally = await closed_loop(server.port, what, CLIENTS, float(room.scaled(3, 10)))
    return tally.per_second


async def _unloaded(server: Server, what: Bodies, count: int, share: float = 0.99) -> float:
    """p99, or another percentile, of single requests."""
    connection, times = await Connection.open(server.port), []
    for number in range(count):
        began = time.perf_counter()
        await connection.ask("POST", PATH, what.bodies[number % len(what.bodies)])
        times.append(time.perf_counter() - began)
    connection.close()
    return percentile(sorted(times), share)
