"""Disconnect during a translation: the work stops within one step.

A step cannot be observed from outside, but CPU time can: the CPU seconds of the server after a client has disconnected
are compared with all that it used. Everything is measured in CPU time of the server, so a busy machine changes nothing.
"""

from __future__ import annotations

import asyncio
import random
import time

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Connection

WASTED = 0.05  # of the CPU time
SMALL_WASTED = 0.3  # a few short requests are measured coarsely; the planted fault wastes more than half
IDLE_SAMPLES = 8  # consecutive samples without a running thread
SAMPLE_SECONDS = 0.004
TIMEOUT = 60.0
PATH = "/v1/translate"


def aborts(environment: Environment) -> ExperimentResult:
    """Run the experiment: an incremental engine, CTranslate2 with a beam of 1, and a control without cancellation."""
    result = ExperimentResult("client gone")
    count = environment.scaled(4, 500)
    engines: dict[str, dict[str, object]] = {
        "incremental, beam 4": {"incremental": True, "beam": 4},
        "CTranslate2, beam 1": {"engine": "ctranslate2", "beam": 1},
    }
    for name, settings in engines.items():
        part = _run(environment, count, "", settings)
        result.trials += part.trials
        result.facts[name] = part.facts
        for target in part.targets:
            result.target(f"{name}: {target.what}", target.goal, target.found, target.is_met)
    control = _run(environment, environment.scaled(2, 20), "ignore_cancellation", engines["CTranslate2, beam 1"])
    result.set_control("the engine ignores that the client has disconnected", control)
    return result


def _run(environment: Environment, count: int, fault: str, settings: dict[str, object]) -> ExperimentResult:
    result = ExperimentResult("client gone")
    with environment.served(environment.bundle(), fault=fault, log="off", **settings) as server:
        asyncio.run(_abort_all(server, environment, result, count))
    spent, wasted = result.facts["cpu"], result.facts["cpu_after"]
    share = wasted / spent if spent else 1.0
    result.trials = count
    most = SMALL_WASTED if environment.is_small else WASTED
    result.target("wasted share of the CPU time", f"≤ {most:.0%}", f"{share:.1%}", share <= most)
    result.no_failures(f"not idle within {TIMEOUT:.0f} s, or ended")
    return result


async def _abort_all(server: Server, environment: Environment, result: ExperimentResult, count: int) -> None:
    """Disconnect after a random part of the CPU time that a long text needs, repeatedly."""
    text, whole = await _long_text(server, environment, 0.2 if environment.is_small else 0.4)
    draw = random.Random(environment.seed)
    spent = after = 0.0
    for _ in range(count):
        await _idle(server, result)
        before = server.cpu_seconds
        connection = await Connection.open(server.port)
        request = asyncio.create_task(connection.request("POST", PATH, _body(text)))
        part = whole * draw.uniform(0.1, 0.6)
        while server.cpu_seconds - before < part and not request.done():
            await asyncio.sleep(0.001)
        if request.done():
            result.facts["too_late"] = result.facts.get("too_late", 0) + 1
        left = server.cpu_seconds
        connection.abort()
        request.cancel()
        await _idle(server, result)
        spent += server.cpu_seconds - before
        after += server.cpu_seconds - left
    result.facts |= {"cpu": spent, "cpu_after": after, "whole_cpu_seconds": whole, "characters": len(text)}


def _body(text: str) -> dict[str, object]:
    return {"text": text, "source": "en", "target": "de", "flags": False, "split": False}


async def _long_text(server: Server, environment: Environment, least: float) -> tuple[str, float]:
    """Return a text that needs at least this CPU time, and the CPU seconds it needs."""
    connection = await Connection.open(server.port)
    text, words, seconds = "", 20, 0.0
    while seconds < least and words < 600:
        words = int(words * 1.5)
        text = " ".join(environment.texts(1, words, words)[0].split())[:4900]
        times = []
        for _ in range(2):
            before = server.cpu_seconds
            reply = await connection.request("POST", PATH, _body(text))
            times.append(server.cpu_seconds - before)
            assert reply.status == 200, reply
        seconds = min(times)
    connection.close()
    return text, seconds


async def _idle(server: Server, result: ExperimentResult) -> None:
    """Wait until no thread of the server runs or waits for a core."""
    end = time.monotonic() + TIMEOUT
    samples, before = 0, server.cpu_seconds
    while samples < IDLE_SAMPLES:
        if time.monotonic() > end or not server.is_running:
            result.fail(f"the server was not idle after {TIMEOUT:.0f} s")
            return
        await asyncio.sleep(SAMPLE_SECONDS)
        now = server.cpu_seconds
        is_idle = not server.has_running_threads and now - before < 0.25 * SAMPLE_SECONDS
        samples, before = (samples + 1 if is_idle else 0), now
