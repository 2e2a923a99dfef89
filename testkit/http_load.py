"""Closed-loop and open-loop load generation.

In a closed loop, a fixed number of clients wait for their answers. In an *open loop* requests are sent when they are
due, without waiting for others, and the time of an answer is counted from when its request was due: a slow server
cannot hide its delay by slowing its clients down.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from testkit.http_client import ConnectionLost, Pool, Reply


@dataclass(frozen=True)
class Outcome:
    """Outcome of a request; `status` is 0 if the connection was lost."""

    due: float
    sent: float
    ended: float
    status: int
    retry_after: str | None = None
    error: str = ""

    @property
    def seconds(self) -> float:
        """Seconds since it was due."""
        return self.ended - self.due


@dataclass
class Tally:
    """Outcomes of all requests of a load."""

    seconds: float
    outcomes: list[Outcome] = field(default_factory=list)

    def times(self, *statuses: int) -> list[float]:
        return sorted(each.seconds for each in self.outcomes if each.status in statuses)

    def count(self, *statuses: int) -> int:
        return sum(each.status in statuses for each in self.outcomes)

    @property
    def statuses(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.outcomes:
            found[str(each.status)] = found.get(str(each.status), 0) + 1
        return found

    @property
    def per_second(self) -> float:
        """Goodput: successful answers per second within the time."""
        if not self.outcomes:
            return 0.0
        end = min(each.due for each in self.outcomes) + self.seconds
        return sum(each.status == 200 and each.ended <= end for each in self.outcomes) / self.seconds

    @property
    def lag(self) -> float:
        """99th percentile of the client's own delay; a large one makes the measurement invalid."""
        return percentile(sorted(each.sent - each.due for each in self.outcomes), 0.99)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Percentile of a sorted list."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@dataclass(frozen=True)
class Bodies:
    """Request bodies, sent cyclically."""

    path: str
    bodies: Sequence[bytes]

    def cycle(self) -> Iterator[bytes]:
        return itertools.cycle(self.bodies)


async def _send(
    pool: Pool, path: str, body: bytes, due: float, on_reply: Callable[[bytes, Reply], None] | None
) -> Outcome:
    """Send a request and return its outcome."""
    sent = time.perf_counter()
    try:
        reply = await pool.request("POST", path, body)
    except (ConnectionLost, OSError) as error:
        return Outcome(due, sent, time.perf_counter(), 0, error=str(error))
    outcome = Outcome(due, sent, time.perf_counter(), reply.status, reply.headers.get("retry-after"))
    if on_reply is not None:
        on_reply(body, reply)
    return outcome


async def closed_loop(
    port: int,
    what: Bodies,
    clients: int,
    seconds: float,
    on_reply: Callable[[bytes, Reply], None] | None = None,
) -> Tally:
    """Run clients that each have one request in flight at all times."""
    pool, cycle, tally = Pool(port), what.cycle(), Tally(seconds)
    end = time.perf_counter() + seconds

    async def client() -> None:
        while (now := time.perf_counter()) < end:
            outcome = await _send(pool, what.path, next(cycle), now, on_reply)
            tally.outcomes.append(outcome)
            if outcome.status != 200:
                await asyncio.sleep(0.01)

    await asyncio.gather(*(client() for _ in range(clients)))
    pool.close()
    return tally


async def open_loop(
    port: int, what: Bodies, per_second: float, seconds: float, seed: int = 1, patience: float = 60.0
) -> Tally:
    """Send requests at random times with a mean rate (a Poisson process)."""
    pool, cycle, tally = Pool(port), what.cycle(), Tally(seconds)
    began = time.perf_counter()
    tasks: list[asyncio.Task[Outcome]] = []
    for at in _arrivals(per_second, seconds, seed):
        wait = began + at - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(_send(pool, what.path, next(cycle), began + at, None)))
    if tasks:
        done, late = await asyncio.wait(tasks, timeout=patience)
        for task in late:
            task.cancel()
        now = time.perf_counter()
        tally.outcomes += [task.result() for task in done]
        tally.outcomes += [Outcome(now - patience, now, now, 0, error="no answer") for _ in late]
    pool.close()
    return tally


def _arrivals(per_second: float, seconds: float, seed: int) -> Iterable[float]:
    draw, at = random.Random(seed), 0.0
    while (at := at + draw.expovariate(per_second)) < seconds:
        yield at
