"""Bundles changed for others under load: no request fails, and once a reload is done the new one answers."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import Any

from benchmarks.serving.client import Connection, Lost, Pool
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.keys import admin
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["swaps"]

CLIENTS = 4
BROKEN_EVERY = 10


def swaps(room: Room) -> Row:
    """The row, and the same with a server that does not reload."""
    row = _tried(room, room.scaled(4, 100), "")
    row.controlled("a server that does not reload", _tried(room, room.scaled(2, 5), "stubborn"))
    return row


class Swapper:
    """Two bundles that take each other's place, and what each answers."""

    def __init__(self, room: Room, folder: Path) -> None:
        self.live, self._spare = folder / "live", [room.bundle(seed=1), room.bundle(seed=2)]
        self.texts = room.texts(30)
        self.now = 0
        self.before: int | None = None
        self.since = 0.0
        self.certain = 0
        """Answers that only one of the two may have given."""
        shutil.copytree(self._spare[0], self.live)
        self.answers = [asyncio.run(_answers(room, bundle, self.texts)) for bundle in self._spare]

    def put_other(self, *, is_broken: bool) -> None:
        """Put the other one in the place; it may be damaged."""
        coming, going = self.live.with_name("coming"), self.live.with_name("going")
        shutil.copytree(self._spare[1 - self.now], coming)
        if is_broken:
            with (coming / "weights.safetensors").open("r+b") as weights:
                weights.seek(-1, os.SEEK_END)
                weights.write(b"x")
        self.live.rename(going)
        coming.rename(self.live)
        shutil.rmtree(going)

    def is_right(self, place: int, answer: str, sent: float) -> bool:
        """Whether it is what the bundle of that time says; around a swap, either."""
        may = {self.now} if sent > self.since and self.before is None else {0, 1}
        self.certain += len(may) == 1
        return any(answer == self.answers[which][place] for which in may)


async def _answers(room: Room, bundle: Path, texts: list[str]) -> list[str]:
    with room.served(bundle, log="off") as server:
        pool = Pool(server.port)
        found = [(await pool.ask("POST", "/translate", _body(text))).json()["translatedText"] for text in texts]
        pool.close()
    return found


def _body(text: str) -> dict[str, str]:
    return {"q": text, "source": "en", "target": "de"}


def _tried(room: Room, count: int, fault: str) -> Row:
    row, folder = Row("hot reload"), room.new_folder("swaps")
    swapper = Swapper(room, folder)
    keys, key = admin(folder)
    with room.served(f"model={swapper.live}", fault=fault, keys=keys, log="off") as server:
        asyncio.run(_swap_all(server, swapper, row, count, key))
        row.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
    row.trials = count
    row.no_failures("requests that failed, or were answered by the wrong model")
    return row


async def _swap_all(server: Server, swapper: Swapper, row: Row, count: int, key: dict[str, str]) -> None:
    over = asyncio.Event()
    clients = [asyncio.create_task(_client(server, swapper, row, key, number, over)) for number in range(CLIENTS)]
    connection = await Connection.open(server.port)
    slowest = 0.0
    for number in range(1, count + 1):
        is_broken = number % BROKEN_EVERY == 0
        swapper.before = swapper.now
        await asyncio.to_thread(swapper.put_other, is_broken=is_broken)
        began = time.perf_counter()
        reply = await connection.ask("POST", "/v1/models/reload", {}, key)
        slowest = max(slowest, time.perf_counter() - began)
        told = reply.json()
        if reply.status != 200 or (not told.get("failed") if is_broken else "model" not in told.get("reloaded", ())):
            row.fail(f"reload {number}: {reply.status} {reply.body[:200]!r}")
        swapper.now = swapper.now if is_broken else 1 - swapper.now
        swapper.since, swapper.before = time.perf_counter(), None
        await _some_answers(swapper)
    over.set()
    asked = sum(await asyncio.gather(*clients))
    connection.close()
    row.facts = {"requests": asked, "slowest_reload": slowest}
    least = CLIENTS * count
    row.target("answers that one model alone may give", f"≥ {least}", str(swapper.certain), swapper.certain >= least)


async def _some_answers(swapper: Swapper) -> None:
    """Wait for some requests that were sent and answered since the swap."""
    before, end = swapper.certain, time.perf_counter() + 10.0
    while swapper.certain < before + CLIENTS and time.perf_counter() < end:
        await asyncio.sleep(0.01)


async def _client(server: Server, swapper: Swapper, row: Row, key: dict[str, str], number: int, over: Any) -> int:
    pool, asked = Pool(server.port), 0
    while not over.is_set():
        place = (number * 7 + asked) % len(swapper.texts)
        sent = time.perf_counter()
        try:
            reply = await pool.ask("POST", "/translate", _body(swapper.texts[place]), key)
        except (OSError, Lost) as error:
            row.fail(f"lost: {error}")
            return asked
        if reply.status != 200:
            row.fail(f"{reply.status}: {reply.body[:200]!r}")
        elif not swapper.is_right(place, reply.json()["translatedText"], sent):
            row.fail(f"text {place} was answered by another model than the one that was there")
        asked += 1
    pool.close()
    return asked
