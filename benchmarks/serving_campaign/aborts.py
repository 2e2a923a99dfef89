"""Clients that leave while their text is translated: the work stops within a step.

A step cannot be seen from outside, but computing can: the seconds of the processor that the server spends after a
client has left are wasted. They are compared with all that it spent.
"""

from __future__ import annotations

import asyncio
import random
import time

from benchmarks.serving.client import Connection
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["aborts"]

WASTED = 0.05
SMALL_TIMES = 4  # so few aborts are measured in ticks of the processor's clock; a deaf engine wastes far more
SETTLED = 0.03  # seconds without computing: the server rests
PATH = "/v1/translate"


def aborts(room: Room) -> Row:
    """The row: an engine whose steps are open, and CTranslate2 with a beam of 1; the same with deaf servers."""
    row = Row("client gone")
    count = room.scaled(8, 500)
    ways: dict[str, dict[str, object]] = {
        "open steps, beam 4": {"stepwise": True, "beam": 4},
        "CTranslate2, beam 1": {"engine": "ctranslate2", "beam": 1},
    }
    for name, settings in ways.items():
        part = _tried(room, count, "", settings)
        row.trials += part.trials
        row.facts[name] = part.facts
        for target in part.targets:
            row.target(f"{name}: {target.what}", target.goal, target.found, target.is_met)
    control = _tried(room, room.scaled(3, 20), "deaf", ways["open steps, beam 4"])
    row.controlled("nobody tells the engine that the client has left", control)
    return row


def _tried(room: Room, count: int, fault: str, settings: dict[str, object]) -> Row:
    row = Row("client gone")
    with room.served(room.bundle(), fault=fault, log="off", **settings) as server:
        asyncio.run(_abort_all(server, room, row, count))
    spent, wasted = row.facts["cpu"], row.facts["cpu_after"]
    share = wasted / spent if spent else 1.0
    row.trials = count
    most = WASTED * (SMALL_TIMES if room.is_small else 1)
    row.target("wasted, of all computing", f"≤ {most:.0%}", f"{share:.1%}", share <= most)
    row.no_failures("not at rest within 5 s, or dead")
    return row


async def _abort_all(server: Server, room: Room, row: Row, count: int) -> None:
    """Find a text that takes about half a second, then leave in the middle of it, again and again."""
    text, whole = await _long_enough(server, room, 0.2 if room.is_small else 0.4)
    draw = random.Random(room.seed)
    spent = after = 0.0
    for _ in range(count):
        await _rest(server, row)
        before = server.cpu_seconds
        connection = await Connection.open(server.port)
        asking = asyncio.create_task(connection.ask("POST", PATH, _body(text)))
        await asyncio.sleep(whole * draw.uniform(0.2, 0.8))
        if asking.done():
            row.facts["too_late"] = row.facts.get("too_late", 0) + 1
        left = server.cpu_seconds
        connection.abort()
        asking.cancel()
        await _rest(server, row)
        spent += server.cpu_seconds - before
        after += server.cpu_seconds - left
    row.facts |= {"cpu": spent, "cpu_after": after, "whole_seconds": whole, "characters": len(text)}


def _body(text: str) -> dict[str, object]:
    return {"text": text, "source": "en", "target": "de", "flags": False, "split": False}


async def _long_enough(server: Server, room: Room, least: float) -> tuple[str, float]:
    connection = await Connection.open(server.port)
    text, words, seconds = "", 20, 0.0
    while seconds < least and words < 600:
        words = int(words * 1.5)
        text = " ".join(room.texts(1, words, words)[0].split())[:4900]
        times = []
        for _ in range(2):
            began = time.perf_counter()
            reply = await connection.ask("POST", PATH, _body(text))
            times.append(time.perf_counter() - began)
            assert reply.status == 200, reply
        seconds = min(times)
    connection.close()
    return text, seconds


async def _rest(server: Server, row: Row) -> None:
    """Wait until the server computes nothing."""
    end = time.perf_counter() + 5.0
    before = server.cpu_seconds
    while time.perf_counter() < end:
        await asyncio.sleep(SETTLED)
        now = server.cpu_seconds
        if now - before < 0.1 * SETTLED:
            return
        before = now
    row.fail("it went on computing for 5 s")
