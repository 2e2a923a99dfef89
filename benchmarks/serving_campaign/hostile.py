"""Hostile requests: no crash, no 5xx but a 503 that was meant, at most a second of computing each."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from benchmarks.serving.client import Connection, Lost, Pool
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.hostile_requests import MARK, Hostile, hostile_requests, slow_requests
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["hostile", "warm_up"]

PATIENCE = 20.0
CPU = 1.0
BODY_SECONDS = 2.0
PIECES = 512  # of a request: what is translated costs what it costs, and an operator says how much that may be
HEALTHY = {"q": "a b c", "source": "en", "target": "de"}


def hostile(room: Room) -> Row:
    """The row, and the same with a route that breaks on some texts."""
    row = _tried(room, room.scaled(250, 10_000), room.scaled(6, 60), "")
    row.controlled("a route that breaks on some texts", _tried(room, room.scaled(60, 1000), 0, "fragile"))
    return row


def _tried(room: Room, count: int, slow: int, fault: str) -> Row:
    row = Row("hostile requests")
    settings = {"limits.body_seconds": BODY_SECONDS, "limits.request_pieces": PIECES, "beam": 2}
    with room.served(room.bundle(), fault=fault, **settings) as server:
        asyncio.run(_ask_all(server, row, count, slow, room.seed))
        row.trials = count + slow
        row.no_failures("crashes, 5xx other than a 503 with Retry-After, no answer")
        longest = max(row.facts["cpu"], key=lambda pair: pair[0])
        row.facts["cpu"] = sorted(row.facts["cpu"], reverse=True)[:10]
        most = CPU * room.patience
        what = f"CPU seconds of the dearest, of at most {PIECES:,} pieces"
        row.target(what, f"≤ {most:g}", f"{longest[0]:.2f} ({longest[1]})", longest[0] <= most)
        row.target("alive, and answers as before", "yes", row.facts["after"], row.facts["after"] == "yes")
        row.target("texts of requests in the log", "none", *_told(MARK not in server.said))
        row.target("tracebacks in the log", "none", *_told("Traceback" not in server.said))
    return row


def _told(is_good: bool) -> tuple[str, bool]:
    return ("none" if is_good else "some", is_good)


async def _ask_all(server: Server, row: Row, count: int, slow: int, seed: int) -> None:
    before = await _healthy(server)
    await warm_up(server)
    waiting = asyncio.create_task(_slow_clients(server, row, slow))
    row.facts["cpu"], row.facts["statuses"] = [(0.0, "")], {}
    for request in hostile_requests(count, seed):
        began = server.cpu_seconds
        status = await _ask(server, request, row)
        if not slow or waiting.done():  # others cost something too while they are there
            row.facts["cpu"].append((server.cpu_seconds - began, request.name))
        row.facts["statuses"][status] = row.facts["statuses"].get(status, 0) + 1
        if not server.is_running:
            row.fail(f"the server ended with {server.process.returncode} at: {request.name}")
            return
    await waiting
    after = await _healthy(server)
    row.facts["after"] = "yes" if after == before else f"{before!r} became {after!r}"


async def warm_up(server: Server) -> None:
    """Ask once for what needs another engine: it is loaded when it is first asked for, which is nobody's attack."""
    pool = Pool(server.port)
    body = {"text": "a", "source": "en", "target": "de"}
    await pool.ask("POST", "/v1/translate", {**body, "glossary": {"a": "b"}})
    await pool.ask("POST", "/v1/inspect", body)
    pool.close()


async def _healthy(server: Server) -> object:
    pool = Pool(server.port)
    try:
        reply = await pool.ask("POST", "/translate", HEALTHY)
        return reply.status, reply.body
    except (Lost, OSError) as error:
        return str(error)
    finally:
        pool.close()


async def _ask(server: Server, request: Hostile, row: Row) -> str:
    """What was answered: a status, or `hung up`."""
    try:
        connection = await Connection.open(server.port)
    except OSError as error:
        row.fail(f"no connection at: {request.name}: {error}")
        return "no connection"
    try:
        with suppress(Lost):  # it may hang up before it has read all: an answer may lie there all the same
            await connection.send(request.data)
        has_body = not request.data.startswith(b"HEAD ")
        reply = await asyncio.wait_for(connection.read(has_body=has_body), PATIENCE)
    except TimeoutError:
        if request.is_http:
            row.fail(f"no answer within {PATIENCE:.0f} s: {request.name}")
        return "no answer"
    except Lost:
        if request.is_http and len(request.data) < 1 << 19:  # a reset may overtake the answer to what is too large
            row.fail(f"hung up without an answer: {request.name}")
        return "hung up"
    finally:
        connection.abort()
    if reply.status >= 500 and not (reply.status == 503 and "retry-after" in reply.headers) and reply.status != 501:
        row.fail(f"{reply.status}: {request.name}: {reply.body[:200]!r}")
    return str(reply.status)


async def _slow_clients(server: Server, row: Row, count: int) -> None:
    """Clients that never get to the end of what they want; they must not be waited for."""
    kinds = list(slow_requests().items())
    await asyncio.gather(*(_slow_client(server, row, *kinds[number % len(kinds)]) for number in range(count)))


async def _slow_client(server: Server, row: Row, name: str, parts: list[bytes]) -> None:
    began = time.perf_counter()
    limit = BODY_SECONDS + 10.0
    try:
        connection = await Connection.open(server.port)
    except OSError as error:
        row.fail(f"no connection for a slow client: {name}: {error}")
        return
    try:
        ended = asyncio.create_task(connection.reader.read())
        for part in parts:
            done, _ = await asyncio.wait([ended], timeout=0.25)
            if done:
                break
            connection.writer.write(part)
        await asyncio.wait_for(ended, limit)
    except OSError:
        pass
    except TimeoutError:
        row.fail(f"a slow client was still waited for after {time.perf_counter() - began:.0f} s: {name}")
    finally:
        connection.abort()
