"""Compare with LibreTranslate: the same model and requests, interleaved in one run."""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import version
from benchmarks.serving.peer_libretranslate import ENVIRONMENT, Peer
from benchmarks.serving.process import Server
from benchmarks.serving.task import PATH, Task
from benchmarks.serving.wrk import saturate, write_script
from dragoman.bundle import Bundle
from testkit.http_client import Pool

CLIENTS = (1, 8, 64)
WAITRESS_THREADS = 64  # the default of 4 would leave most of 64 clients in the backlog
COMPARED = 200


def peer(task: Task, environments: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """Interleaved rounds at each number of clients."""
    if task.precision not in ("float32", "int8"):
        raise SystemExit(f"--precision must be float32 or int8 here, got {task.precision}; both sides have the same")
    other = Peer(
        Bundle.open(task.bundle, trusted=True),
        task.work / "peer",
        environments,
        precision="int8" if task.precision == "int8" else "float32",
        threads=task.threads,
        beam=task.beam,
    )
    script = write_script(task.work / "wrk", PATH, task.bodies)
    found: dict[str, dict[str, list[Any]]] = {"dragoman": {}, "libretranslate": {}}
    theirs = other.start(WAITRESS_THREADS)
    try:
        with task.served() as ours:
            sides = {"dragoman": ours, "libretranslate": theirs}
            same = asyncio.run(_same(ours, theirs, task))
            for _ in range(rounds):
                for clients in CLIENTS:
                    for name, server in sides.items():
                        _measure(found[name], server, script, clients, seconds, name)
    finally:
        theirs.stop()
    version_ = version(ENVIRONMENT, environments)
    return {"version": version_, "waitress_threads": WAITRESS_THREADS, "same": same, "sides": found}


def _measure(
    found: dict[str, list[Any]], server: Server, script: Path, clients: int, seconds: float, name: str
) -> None:
    run = saturate(server, script, clients, seconds)
    found.setdefault(str(clients), []).append(
        {**asdict(run), "per_second": run.per_second, "per_cpu_second": (run.requests - run.failed) / run.cpu}
    )
    print(f"{name}, {clients} clients: {run.per_second:.1f}/s, p99 {run.p99:.3f} s, {run.failed} failed", flush=True)


def medians(rounds: list[dict[str, float]], what: str) -> float:
    return statistics.median(each[what] for each in rounds)


async def _same(ours: Server, theirs: Server, task: Task) -> float:
    """Return the fraction of equal translations; the two searches rank lengths differently."""
    answers = []
    for server in (ours, theirs):
        pool = Pool(server.port)
        replies = [await pool.request("POST", PATH, body) for body in task.bodies[:COMPARED]]
        answers.append([reply.json().get("translatedText") for reply in replies])
        pool.close()
    equal = sum(bool(one == other) for one, other in zip(*answers, strict=True))
    return equal / len(answers[0])
