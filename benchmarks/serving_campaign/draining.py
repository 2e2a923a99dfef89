"""SIGTERM under load: what was let in is answered, and `/readyz` says no at once."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, field

from benchmarks.serving.client import Connection, Lost
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["draining"]

CLIENTS = 6
READY = 0.1
NOTICE = 0.5
DRAIN = 20.0


@dataclass
class Drained:
    """What happened around one signal."""

    at: float = 0.0
    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    unready: float | None = None


def draining(room: Room) -> Row:
    """The row, and the same with a server that ends at once."""
    row = _tried(room, room.scaled(2, 50), "")
    row.controlled("a server that ends at once", _tried(room, room.scaled(1, 3), "hasty"))
    return row


def _tried(room: Room, count: int, fault: str) -> Row:
    row, draw = Row("drain"), random.Random(room.seed)
    slowest, lost, codes, answered = 0.0, [], set(), 0
    for _ in range(count):
        settings = {"drain_notice": NOTICE, "drain_seconds": DRAIN, "log": "off"}
        with room.served(room.bundle(), fault=fault, **settings) as server:
            drained = asyncio.run(_signalled(server, room, draw.uniform(0.3, 0.8)))
            codes.add(server.process.wait(timeout=DRAIN + 10))
        slowest = max(slowest, float("inf") if drained.unready is None else drained.unready)
        lost += drained.lost
        answered += drained.answered
    row.trials = count
    row.facts = {"answered": answered, "codes": sorted(codes), "lost": lost[:5]}
    row.target("requests sent before the signal that were lost", "0", str(len(lost)), not lost)
    most = READY * room.patience
    row.target("/readyz says 503, s after the signal at the latest", f"≤ {most:g}", f"{slowest:.3f}", slowest <= most)
    row.target("exit code", "0", str(sorted(codes)), codes == {0})
    return row


async def _signalled(server: Server, room: Room, after: float) -> Drained:
    """Clients ask without a pause; then comes the signal."""
    drained, texts = Drained(), room.texts(64, 4, 20)
    clients = [asyncio.create_task(_client(server, drained, texts[n::CLIENTS])) for n in range(CLIENTS)]
    watching = asyncio.create_task(_watch(server, drained))
    await asyncio.sleep(after)
    drained.at = time.perf_counter()
    server.terminate()
    await asyncio.wait_for(asyncio.gather(*clients, watching), DRAIN + 10)
    return drained


async def _client(server: Server, drained: Drained, texts: list[str]) -> None:
    """Ask until the server is gone."""
    body = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
    while not drained.at or time.perf_counter() < drained.at + DRAIN:
        sent = time.perf_counter()
        try:
            connection = await Connection.open(server.port)
            reply = await connection.ask("POST", "/translate", body)
            connection.close()
        except OSError:
            return
        except Lost as error:
            if not drained.at or sent < drained.at:
                drained.lost.append(str(error))
            return
        drained.answered += reply.status == 200
        drained.refused += reply.status == 503
        if reply.status not in (200, 503) or (reply.status == 503 and (not drained.at or sent < drained.at)):
            drained.lost.append(f"{reply.status}: {reply.body[:100]!r}")
        if reply.status != 200:
            return


async def _watch(server: Server, drained: Drained) -> None:
    """Ask `/readyz` again and again, on new connections, until it says no."""
    while not drained.at or time.perf_counter() < drained.at + 5.0:
        try:
            connection = await Connection.open(server.port)
            status = (await connection.ask("GET", "/readyz")).status
            connection.close()
        except (OSError, Lost):
            return
        if status == 503 and drained.at:
            drained.unready = time.perf_counter() - drained.at
            return
        await asyncio.sleep(0.005)
