"""HTML over HTTP: the output has no element and no attribute that the input does not have."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import html5lib

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from benchmarks.serving_campaign.html_payloads import payloads
from testkit.http_client import Pool

TEXTS_PER_REQUEST = 8
CLIENTS = 4


def html(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a server that unescapes its output."""
    result = _run(environment, environment.scaled(60, 2000), "")
    result.set_control("the output is unescaped", _run(environment, environment.scaled(30, 200), "unescaped_html"))
    return result


def _run(environment: Environment, count: int, fault: str) -> ExperimentResult:
    result = ExperimentResult("HTML", trials=count)
    sources = list(payloads(count, environment.seed))
    with environment.served(environment.bundle("luong"), fault=fault, log="off", beam=1) as server:
        targets = asyncio.run(_translated(server, sources, result))
    for source, target in zip(sources, targets, strict=True):
        if target is not None and (more := elements_and_attributes(target) - elements_and_attributes(source)):
            result.fail(f"{dict(more)} of {source!r} became {target!r}")
    result.facts["same"] = sum(source == target for source, target in zip(sources, targets, strict=True))
    result.no_failures("elements or attributes that the input does not have, or no answer")
    return result


def elements_and_attributes(text: str) -> Counter[tuple[str, ...]]:
    """Return every element, and every attribute with its value, as a browser parses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = html5lib.parseFragment(text, container="body", namespaceHTMLElements=False)
    found: Counter[tuple[str, ...]] = Counter()
    for element in tree.iter():
        if isinstance(element.tag, str):  # the tag of a comment is a function
            found[element.tag,] += 1
            found.update((element.tag, str(name), value) for name, value in element.attrib.items())
    return found


async def _translated(server: Server, sources: Sequence[str], result: ExperimentResult) -> list[str | None]:
    pool: Any = Pool(server.port)
    found: list[str | None] = [None] * len(sources)
    places = list(range(0, len(sources), TEXTS_PER_REQUEST))

    async def client() -> None:
        while places:
            place = places.pop()
            some = sources[place : place + TEXTS_PER_REQUEST]
            body = {"q": some, "source": "en", "target": "de", "format": "html"}
            reply = await pool.request("POST", "/translate", body)
            if reply.status != 200:
                result.fail(f"{reply.status}: {reply.body[:200]!r} to {some!r}")
                continue
            found[place : place + TEXTS_PER_REQUEST] = reply.json()["translatedText"]

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    pool.close()
    return found
