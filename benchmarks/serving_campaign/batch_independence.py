"""Translations do not depend on the batch: sentences alone and together with others, over HTTP."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import FAMILIES, Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Pool

CLIENTS = 12
MAX_TEXTS = 16  # per request


def batch_independence(environment: Environment) -> ExperimentResult:
    """Run the experiment: every model family, and a control with mixed-up translations."""
    bundles = {family: environment.trained.get(family) or environment.bundle(family) for family in FAMILIES}
    bundles |= {name: path for name, path in environment.trained.items() if name not in bundles}
    result = _run(environment, bundles, environment.scaled(24, 2000), "")
    one = {"transformer": environment.bundle()}
    control = _run(environment, one, environment.scaled(40, 200), "mixed_translations")
    result.set_control("a sentence in a batch gets the translation of another one", control)
    return result


def _run(environment: Environment, bundles: dict[str, Path], count: int, fault: str) -> ExperimentResult:
    result = ExperimentResult("batching never changes the answer", trials=count * len(bundles))
    texts = _sentences(environment, count)
    models = [f"{name}={path}" for name, path in bundles.items()]
    with environment.served(*models, fault=fault, log="off") as server:
        for name in bundles:
            alone = asyncio.run(_alone(server, name, texts))
            together = asyncio.run(_together(server, name, texts, environment.seed))
            other = [place for place, text in enumerate(alone) if together[place] != text]
            sizes = [line for line in server.get("/metrics").splitlines() if line.startswith("dragoman_batch_size")]
            result.facts[name] = {"other": other[:20], "batches": sizes[-2:]}
            what = f"{name}: sentences with another translation in a batch"
            result.target(what, "0", str(len(other)), not other)
    return result


def _sentences(environment: Environment, count: int) -> list[str]:
    """Return short and long sentences."""
    return [*environment.texts(count - count // 4, 1, 12, seed=5), *environment.texts(count // 4, 13, 60, seed=6)]


async def _alone(server: Server, model: str, texts: list[str]) -> list[str]:
    pool = Pool(server.port)
    found = [await _translate(pool, model, [text]) for text in texts]
    pool.close()
    return [each[0] for each in found]


async def _translate(pool: Pool, model: str, texts: list[str]) -> list[str]:
    while True:
        body = {"text": texts, "source": "en", "target": "de", "model": model}
        reply = await pool.request("POST", "/v1/translate", body)
        if reply.status == 503:
            await asyncio.sleep(0.2)
            continue
        assert reply.status == 200, reply.body[:500]
        return [each["text"] for each in reply.json()["translations"]]


async def _together(server: Server, model: str, texts: list[str], seed: int) -> list[str]:
    """Translate in requests of several sentences, in another order, in parallel."""
    draw, pool = random.Random(seed), Pool(server.port)
    order = list(range(len(texts)))
    draw.shuffle(order)
    found = [""] * len(texts)

    async def client() -> None:
        while order:
            places = [order.pop() for _ in range(min(len(order), draw.randint(1, MAX_TEXTS)))]
            some = [texts[place] for place in places]
            for place, translation in zip(places, await _translate(pool, model, some), strict=True):
                found[place] = translation

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    pool.close()
    return found
