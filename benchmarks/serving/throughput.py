"""Measure throughput over HTTP relative to the engine alone, and the gain from batching."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

from benchmarks.serving.process import Server
from benchmarks.serving.task import CLIENTS, PATH, Task
from benchmarks.serving.wrk import saturate, write_script

OFFLINE_GOAL = 0.9
TOGETHER_GOAL = 3.0
WARMUP = 2.0


def throughput(task: Task, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure interleaved rounds: the engine alone, the server, and a server without batching.

    The engine alone translates in two ways: as many sentences per call as there are clients, which is what the server
    builds batches from, and all sentences in one call, which permits batches of similar length.
    """
    script = write_script(task.work / "wrk", PATH, task.bodies)
    found: dict[str, list[Any]] = {"clients_at_once": [], "all_at_once": [], "together": [], "one_by_one": []}
    engine = task.offline()
    try:
        with task.served("together") as server, task.served("one-by-one", batch_sentences=1) as alone:
            for each in (server, alone):
                saturate(each, script, CLIENTS, WARMUP)
            engine.translate(task.texts[:100])
            for number in range(rounds):
                found["clients_at_once"].append(_offline(engine.translate(task.texts, CLIENTS), task))
                found["together"].append(_online(server, script, seconds))
                found["all_at_once"].append(_offline(engine.translate(task.texts), task))
                found["one_by_one"].append(_online(alone, script, seconds))
                print(f"round {number + 1}: {_summary(found)}", flush=True)
    finally:
        engine.stop()
    return {"clients": CLIENTS, "why": engine.why, **found, **ratios(found)}


def _offline(answer: dict[str, Any], task: Task) -> dict[str, float]:
    sentences = len(task.texts)
    return {"per_second": sentences / answer["seconds"], "per_cpu_second": sentences / answer["cpu"]}


def _online(server: Server, script: Any, seconds: float) -> dict[str, float]:
    run = saturate(server, script, CLIENTS, seconds)
    return {**asdict(run), "per_second": run.per_second, "per_cpu_second": (run.requests - run.failed) / run.cpu}


def ratios(found: dict[str, list[Any]]) -> dict[str, float]:
    """Return the medians of the ratios of each round."""

    def ratio(one: str, other: str, what: str = "per_second") -> float:
        pairs = zip(found[one], found[other], strict=True)
        return statistics.median(float(a[what]) / float(b[what]) for a, b in pairs)

    return {
        "of_engine": ratio("together", "clients_at_once"),
        "of_engine_by_cpu": ratio("together", "clients_at_once", "per_cpu_second"),
        "of_engine_all_at_once": ratio("together", "all_at_once"),
        "gain": ratio("together", "one_by_one"),
    }


def _summary(found: dict[str, list[Any]]) -> str:
    return ", ".join(f"{name} {each[-1]['per_second']:.0f}/s" for name, each in found.items())
