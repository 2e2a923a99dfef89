"""Replace bundles under load: no request fails, and after a reload the new bundle translates."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from typing import Any

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment, admin_key
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Connection, ConnectionLost, Pool

CLIENTS = 4
BROKEN_EVERY = 10
SEEDS = (1, 2)  # of the two bundles


def swaps(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a server that does not reload."""
    texts = environment.texts(environment.scaled(10, 30))
    translations = asyncio.run(_translations(environment, texts))
    result = _run(environment, Swapper(environment, texts, translations), environment.scaled(3, 100), "")
    control = _run(environment, Swapper(environment, texts, translations), environment.scaled(1, 5), "no_reload")
    result.set_control("a server that does not reload", control)
    return result


class Swapper:
    """Two bundles that replace each other, and their translations."""

    def __init__(self, environment: Environment, texts: list[str], translations: list[list[str]]) -> None:
        self.folder = environment.new_folder("swaps")
        self.live, self._spare = self.folder / "live", [environment.bundle(seed=seed) for seed in SEEDS]
        self.texts, self.translations = texts, translations
        self.now = 0
        self.before: int | None = None
        self.since = 0.0
        self.certain = 0
        """Translations that only one of the bundles gives."""
        shutil.copytree(self._spare[0], self.live)

    def put_other(self, *, is_broken: bool) -> None:
        """Replace the bundle by the other one, possibly damaged."""
        coming, going = self.live.with_name("coming"), self.live.with_name("going")
        shutil.copytree(self._spare[1 - self.now], coming)
        if is_broken:
            with (coming / "weights.safetensors").open("r+b") as weights:
                weights.seek(-1, os.SEEK_END)
                weights.write(b"x")
        self.live.rename(going)
        coming.rename(self.live)
        shutil.rmtree(going)

    def is_right(self, place: int, translation: str, sent: float) -> bool:
        """Whether a translation is that of the current bundle; during a swap, of either."""
        allowed = {self.now} if sent > self.since and self.before is None else {0, 1}
        self.certain += len(allowed) == 1
        return any(translation == self.translations[which][place] for which in allowed)


async def _translations(environment: Environment, texts: list[str]) -> list[list[str]]:
    """Return the translations of both bundles, [bundle][text]."""
    bundles = [f"seed-{seed}={environment.bundle(seed=seed)}" for seed in SEEDS]
    with environment.served(*bundles, log="off") as server:
        pool, found = Pool(server.port), []
        for seed in SEEDS:
            body = {"text": texts, "source": "en", "target": "de", "model": f"seed-{seed}"}
            reply = await pool.request("POST", "/v1/translate", body)
            found.append([each["text"] for each in reply.json()["translations"]])
        pool.close()
    assert found[0] != found[1]
    return found


def _body(text: str) -> dict[str, str]:
    return {"q": text, "source": "en", "target": "de"}


def _run(environment: Environment, swapper: Swapper, count: int, fault: str) -> ExperimentResult:
    result = ExperimentResult("hot reload")
    keys, key = admin_key(swapper.folder)
    with environment.served(f"model={swapper.live}", fault=fault, keys=keys, log="off") as server:
        asyncio.run(_swap_all(server, swapper, result, count, key))
        result.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
    result.trials = count
    result.no_failures("requests that failed, or were translated by the wrong model")
    return result


async def _swap_all(
    server: Server, swapper: Swapper, result: ExperimentResult, count: int, key: dict[str, str]
) -> None:
    over = asyncio.Event()
    clients = [asyncio.create_task(_client(server, swapper, result, key, number, over)) for number in range(CLIENTS)]
    connection = await Connection.open(server.port)
    slowest = 0.0
    for number in range(1, count + 1):
        is_broken = number % BROKEN_EVERY == 0
        swapper.before = swapper.now
        await asyncio.to_thread(swapper.put_other, is_broken=is_broken)
        began = time.perf_counter()
        reply = await connection.request("POST", "/v1/models/reload", {}, key)
        slowest = max(slowest, time.perf_counter() - began)
        answer = reply.json()
        if reply.status != 200 or (
            not answer.get("failed") if is_broken else "model" not in answer.get("reloaded", ())
        ):
            result.fail(f"reload {number}: {reply.status} {reply.body[:200]!r}")
        swapper.now = swapper.now if is_broken else 1 - swapper.now
        swapper.since, swapper.before = time.perf_counter(), None
        await _wait_for_requests(swapper)
    over.set()
    sent_count = sum(await asyncio.gather(*clients))
    connection.close()
    result.facts = {"requests": sent_count, "slowest_reload": slowest}
    least = CLIENTS * count
    result.target(
        "translations that only one model gives", f"≥ {least}", str(swapper.certain), swapper.certain >= least
    )


async def _wait_for_requests(swapper: Swapper) -> None:
    """Wait for some requests that were sent and completed after the swap."""
    before, end = swapper.certain, time.perf_counter() + 60.0
    while swapper.certain < before + CLIENTS and time.perf_counter() < end:
        await asyncio.sleep(0.01)


async def _client(
    server: Server, swapper: Swapper, result: ExperimentResult, key: dict[str, str], number: int, over: Any
) -> int:
    pool, sent_count = Pool(server.port), 0
    while not over.is_set():
        place = (number * 7 + sent_count) % len(swapper.texts)
        sent = time.perf_counter()
        try:
            reply = await pool.request("POST", "/translate", _body(swapper.texts[place]), key)
        except (OSError, ConnectionLost) as error:
            result.fail(f"lost: {error}")
            return sent_count
        if reply.status != 200:
            result.fail(f"{reply.status}: {reply.body[:200]!r}")
        elif not swapper.is_right(place, reply.json()["translatedText"], sent):
            result.fail(f"text {place} was translated by another model than the current one")
        sent_count += 1
    pool.close()
    return sent_count
