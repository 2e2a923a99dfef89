"""HTML over HTTP: whatever comes in, no element and no attribute goes out that was not there."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import html5lib

from benchmarks.serving.client import Pool
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.html_payloads import payloads
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["html", "things_of"]

TOGETHER = 8
CLIENTS = 4


def html(room: Room) -> Row:
    """The row, and the same with a server that unescapes what it says."""
    row = _tried(room, room.scaled(150, 2000), "")
    row.controlled("what is said is unescaped", _tried(room, room.scaled(60, 200), "unescaping"))
    return row


def _tried(room: Room, count: int, fault: str) -> Row:
    row = Row("HTML", trials=count)
    sources = list(payloads(count, room.seed))
    with room.served(room.bundle("luong"), fault=fault, log="off", beam=1) as server:
        targets = asyncio.run(_translated(server, sources, row))
    for source, target in zip(sources, targets, strict=True):
        if target is not None and (more := things_of(target) - things_of(source)):
            row.fail(f"{dict(more)} of {source!r} became {target!r}")
    row.facts["same"] = sum(source == target for source, target in zip(sources, targets, strict=True))
    row.no_failures("elements or attributes that were not there, or no answer")
    return row


def things_of(text: str) -> Counter[tuple[str, ...]]:
    """Every element, and every attribute with its value, as a browser sees them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = html5lib.parseFragment(text, container="body", namespaceHTMLElements=False)
    found: Counter[tuple[str, ...]] = Counter()
    for element in tree.iter():
        if isinstance(element.tag, str):  # comments have a function there
            found[element.tag,] += 1
            found.update((element.tag, str(name), value) for name, value in element.attrib.items())
    return found


async def _translated(server: Server, sources: Sequence[str], row: Row) -> list[str | None]:
    pool: Any = Pool(server.port)
    found: list[str | None] = [None] * len(sources)
    places = list(range(0, len(sources), TOGETHER))

    async def client() -> None:
        while places:
            place = places.pop()
            some = sources[place : place + TOGETHER]
            body = {"q": some, "source": "en", "target": "de", "format": "html"}
            reply = await pool.ask("POST", "/translate", body)
            if reply.status != 200:
                row.fail(f"{reply.status}: {reply.body[:200]!r} to {some!r}")
                continue
            found[place : place + TOGETHER] = reply.json()["translatedText"]

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    pool.close()
    return found
