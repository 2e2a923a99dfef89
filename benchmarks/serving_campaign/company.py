"""Batching never changes the answer: sentences one at a time and together with others, over HTTP."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from benchmarks.serving.client import Pool
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.room import FAMILIES, Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["company"]

CLIENTS = 12
MOST = 16  # texts of a request


def company(room: Room) -> Row:
    """The row: every family; and the same with a server that mixes answers up."""
    row = Row("batching never changes the answer")
    bundles = {family: room.trained.get(family) or room.bundle(family) for family in FAMILIES}
    bundles |= {name: path for name, path in room.trained.items() if name not in bundles}
    for family, bundle in bundles.items():
        part = _tried(room, bundle, room.scaled(40, 2000), "")
        row.trials += part.trials
        row.facts[family] = part.facts
        for target in part.targets:
            row.target(f"{family}: {target.what}", target.goal, target.found, target.is_met)
    control = _tried(room, room.bundle(), room.scaled(40, 200), "sociable")
    row.controlled("in company, a sentence gets another one's answer", control)
    return row


def _tried(room: Room, bundle: Path, count: int, fault: str) -> Row:
    row = Row("company")
    texts = _sentences(room, count)
    with room.served(bundle, fault=fault, log="off") as server:
        alone = asyncio.run(_alone(server, texts))
        together = asyncio.run(_together(server, texts, room.seed))
        sizes = [line for line in server.get("/metrics").splitlines() if line.startswith("dragoman_batch_size")]
    other = [place for place, text in enumerate(alone) if together[place] != text]
    row.trials = count
    row.facts = {"other": other[:20], "batches": sizes[-2:]}
    row.target("sentences with another answer in company", "0", str(len(other)), not other)
    return row


def _sentences(room: Room, count: int) -> list[str]:
    """Short and long ones."""
    return [*room.texts(count - count // 4, 1, 12, seed=5), *room.texts(count // 4, 13, 60, seed=6)]


async def _alone(server: Server, texts: list[str]) -> list[str]:
    pool = Pool(server.port)
    found = [await _asked(pool, [text]) for text in texts]
    pool.close()
    return [each[0] for each in found]


async def _asked(pool: Pool, texts: list[str]) -> list[str]:
    while True:
        reply = await pool.ask("POST", "/translate", {"q": texts, "source": "en", "target": "de"})
        if reply.status == 503:
            await asyncio.sleep(0.2)
            continue
        assert reply.status == 200, reply.body[:500]
        answers: list[str] = reply.json()["translatedText"]
        return answers


async def _together(server: Server, texts: list[str], seed: int) -> list[str]:
    """In requests of several, in another order, several at a time."""
    draw, pool = random.Random(seed), Pool(server.port)
    order = list(range(len(texts)))
    draw.shuffle(order)
    found = [""] * len(texts)

    async def client() -> None:
        while order:
            places = [order.pop() for _ in range(min(len(order), draw.randint(1, MOST)))]
            for place, answer in zip(places, await _asked(pool, [texts[place] for place in places]), strict=True):
                found[place] = answer

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    pool.close()
    return found
