"""Half an hour of everything: memory, threads and descriptors must not grow."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from dataclasses import dataclass

from benchmarks.serving.client import Connection, Lost, Pool, request_bytes
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.hostile import warm_up
from benchmarks.serving_campaign.hostile_requests import hostile_requests
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["soak"]

GROWTH = 0.05
WARMUP = 0.25  # of the time
WINDOW = 0.2  # of what remains: its medians are compared, at the beginning and at the end
CLIENTS = 6
SLACK = 4  # threads, descriptors: connections come and go


@dataclass(frozen=True)
class Look:
    """How large the server was."""

    at: float
    memory: int
    threads: int
    descriptors: int


def soak(room: Room) -> Row:
    """The row, and the same with a server that leaks."""
    row = _tried(room, float(room.scaled(10, 1800)), "")
    row.controlled("a server that keeps 300 kB of each request", _tried(room, float(room.scaled(8, 30)), "leaky"))
    return row


def _tried(room: Room, seconds: float, fault: str) -> Row:
    row = Row("soak")
    with room.served(room.bundle(), fault=fault, log="off", **{"limits.body_seconds": 2, "beam": 2}) as server:
        looks, counts = asyncio.run(_live(server, room, seconds))
        row.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
    row.trials = sum(counts.values())
    row.facts = {
        "seconds": seconds,
        "outcomes": counts,
        "memory_mib": [round(look.memory / 2**20, 1) for look in looks],
    }
    row.facts["memory_mib"] = row.facts["memory_mib"][:: max(1, len(looks) // 60)]
    first, last = _windows(looks, seconds)
    growth = last.memory / first.memory - 1
    most = GROWTH * (
        2 if room.is_small else 1
    )  # what is loaded when it is first asked for is not all there after seconds
    row.target("memory grows after warming up by", f"< {most:.0%}", f"{growth:+.1%}", growth < most)
    more = last.threads - first.threads
    row.target("threads more", f"≤ {SLACK}", str(more), more <= SLACK)
    more = last.descriptors - first.descriptors
    row.target("descriptors more", f"≤ {SLACK}", str(more), more <= SLACK)
    bad = {status: count for status, count in counts.items() if status.startswith("5") and status not in ("501", "503")}
    row.target("5xx but 503", "0", str(sum(bad.values())), not bad)
    return row


def _windows(looks: list[Look], seconds: float) -> tuple[Look, Look]:
    """How large it was after warming up, and at the end: medians."""
    begin, length = WARMUP * seconds, WINDOW * (1 - WARMUP) * seconds
    windows = ((begin, begin + length), (seconds - length, seconds + 60))
    found = [[look for look in looks if start <= look.at <= end] for start, end in windows]
    return _median(found[0]), _median(found[1])


def _median(looks: list[Look]) -> Look:
    def of(name: str) -> int:
        return int(statistics.median(getattr(look, name) for look in looks))

    return Look(looks[0].at, of("memory"), of("threads"), of("descriptors"))


async def _live(server: Server, room: Room, seconds: float) -> tuple[list[Look], dict[str, int]]:
    """Clients of all kinds, and a look at the server now and then."""
    await warm_up(server)
    began, looks = time.perf_counter(), []
    counts: dict[str, int] = {}
    clients = [asyncio.create_task(_client(server, room, number, began + seconds, counts)) for number in range(CLIENTS)]
    while not all(client.done() for client in clients):
        await asyncio.sleep(min(2.0, seconds / 100))
        if not server.is_running:
            break
        looks.append(Look(time.perf_counter() - began, server.memory, server.threads, server.descriptors))
    await asyncio.gather(*clients)
    return looks, counts


async def _client(server: Server, room: Room, number: int, end: float, counts: dict[str, int]) -> None:
    """One kind of request after the other."""
    draw, pool = random.Random(number), Pool(server.port)
    texts = room.texts(200, 2, 15, seed=number)
    bad = hostile_requests(1 << 30, 1000 + number)
    while time.perf_counter() < end and server.is_running:
        try:
            outcome = await asyncio.wait_for(_one(server, pool, draw, texts, bad), 30.0)
        except (OSError, Lost):
            outcome = "lost"
        except TimeoutError:
            outcome = "no answer"
        counts[outcome] = counts.get(outcome, 0) + 1
    pool.close()


async def _one(server: Server, pool: Pool, draw: random.Random, texts: list[str], bad: object) -> str:
    text, kind = draw.choice(texts), draw.random()
    body: dict[str, object] = {"text": text, "source": "en", "target": "de"}
    if kind < 0.5:
        reply = await pool.ask("POST", "/translate", {"q": text, "source": "en", "target": "de"})
    elif kind < 0.65:
        options = {"alignments": True, "alternatives": 1, "text": [text, f"<b>{text}</b>"], "format": "html"}
        reply = await pool.ask("POST", "/v1/translate", {**body, **options})
    elif kind < 0.75:
        reply = await pool.ask("POST", "/v1/translate", {**body, "stream": True})
    elif kind < 0.8:
        reply = await pool.ask("GET", draw.choice(["/languages", "/metrics", "/v1/models", "/", "/openapi.json"]))
    else:
        connection = await Connection.open(server.port)
        data = next(bad).data if kind < 0.9 else _head(body)  # type: ignore[call-overload]
        try:
            await connection.send(data)
            await asyncio.sleep(draw.uniform(0, 0.05))
        finally:
            connection.abort()
        return "left"
    return str(reply.status)


def _head(body: dict[str, object]) -> bytes:
    data = json.dumps({**body, "stream": True}).encode()
    return request_bytes("POST", "/v1/translate", data)
