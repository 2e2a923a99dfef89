"""Load in two ways: so many clients that each wait for their answer, or so many requests a second, come what may.

In an *open loop* requests are sent when they are due, however many are still under way, and the time of an answer is
counted from when its request was due: a server that is late cannot hide it by slowing its clients down.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.serving.client import Lost, Pool, Reply

__all__ = ["Bodies", "Outcome", "Tally", "closed_loop", "open_loop", "percentile"]


@dataclass(frozen=True)
class Outcome:
    """What became of a request; `status` is 0 where the connection was lost."""

    due: float
    sent: float
    ended: float
    status: int
    retry_after: str | None = None
    error: str = ""

    @property
    def seconds(self) -> float:
        """From when it was due."""
        return self.ended - self.due


@dataclass
class Tally:
    """All that became of a load."""

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
        """Good answers a second, of those that ended within the time."""
        if not self.outcomes:
            return 0.0
        end = min(each.due for each in self.outcomes) + self.seconds
        return sum(each.status == 200 and each.ended <= end for each in self.outcomes) / self.seconds

    @property
    def lag(self) -> float:
        """How late the client itself was, but for one in a hundred: if more than a little, it measures itself."""
        return percentile(sorted(each.sent - each.due for each in self.outcomes), 0.99)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that so large a share does not exceed; of a list that is in order."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@dataclass(frozen=True)
class Bodies:
    """Requests that are sent in turn."""

    path: str
    bodies: Sequence[bytes]

    def turns(self) -> Iterator[bytes]:
        return itertools.cycle(self.bodies)


async def one(pool: Pool, path: str, body: bytes, due: float, look: Callable[[bytes, Reply], None] | None) -> Outcome:
    """Send a request and wait for what becomes of it."""
    sent = time.perf_counter()
    try:
        reply = await pool.ask("POST", path, body)
    except (Lost, OSError) as error:
        return Outcome(due, sent, time.perf_counter(), 0, error=str(error))
    outcome = Outcome(due, sent, time.perf_counter(), reply.status, reply.headers.get("retry-after"))
    if look is not None:
        look(body, reply)
    return outcome


async def closed_loop(
    port: int,
    what: Bodies,
    clients: int,
    seconds: float,
    look: Callable[[bytes, Reply], None] | None = None,
) -> Tally:
    """So many clients, each with one request under way all the time."""
    pool, turns, tally = Pool(port), what.turns(), Tally(seconds)
    end = time.perf_counter() + seconds

    async def client() -> None:
        while (now := time.perf_counter()) < end:
            outcome = await one(pool, what.path, next(turns), now, look)
            tally.outcomes.append(outcome)
            if outcome.status != 200:
                await asyncio.sleep(0.01)

    await asyncio.gather(*(client() for _ in range(clients)))
    pool.close()
    return tally


async def open_loop(
    port: int, what: Bodies, per_second: float, seconds: float, seed: int = 1, patience: float = 60.0
) -> Tally:
    """Requests at random times, so many a second on the whole (a Poisson process)."""
    pool, turns, tally = Pool(port), what.turns(), Tally(seconds)
    began = time.perf_counter()
    tasks: list[asyncio.Task[Outcome]] = []
    for at in _arrivals(per_second, seconds, seed):
        wait = began + at - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(pool, what.path, next(turns), began + at, None)))
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
