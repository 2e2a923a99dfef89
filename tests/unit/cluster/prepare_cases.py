"""Run the cases of `test_cluster_workers` in a process of their own: Ray reads its environment when it is imported."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dragoman.api.training.preparation import prepare_corpora
from dragoman.cluster.ray_session import ray_session
from dragoman.data.duplicates import decisions
from dragoman.data.preparation import clean_stage
from dragoman.data.worker_processes import Workers
from dragoman.files import sha256_of_file
from dragoman.progress import NoProgress
from tests.equivalence.test_preparation_determinism import corpora
from tests.unit.data.preparation.corpus import contents

KILLED_IN = ("cleaning a.en", "finding leaks and duplicates", "finding near-duplicates", "writing shards")
"""Stages in which a worker is killed, right after the first result."""


class Killer(NoProgress):
    """Kill a worker in each of some stages."""

    def __init__(self, actors: list[Any]) -> None:
        self._actors = actors
        self._victims: list[int] = []
        self.killed: list[int] = []

    def begin(self, stage: str) -> None:
        import ray

        self._victims = []
        if stage in KILLED_IN:
            calls = [actor.__ray_call__.remote(lambda self: os.getpid()) for actor in self._actors]
            self._victims = ray.get(calls)[:1]

    def advance(self, share: float, pairs: int = 0) -> None:
        while self._victims:
            self.killed.append(self._victims.pop())
            os.kill(self.killed[-1], signal.SIGKILL)


def without_last(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Lose the last result of cleaning a corpus."""

    def losing(work: Callable[[Any], Any], tasks: Iterator[Any]) -> Iterator[Any]:
        results = list(run(work, tasks))
        yield from results[: -1 if work.__name__ == "_clean_chunk" else None]

    return losing


def prepared(folder: Path, workers: Workers | None = None, progress: Any = None) -> dict[str, str]:
    settings = corpora(folder)
    return contents(prepare_corpora(settings, folder, workers=workers, progress=progress).folder)


def failing(number: int) -> None:
    (Path("/none") / str(number)).read_bytes()


def cases(work: Path, *, is_long: bool) -> Iterator[tuple[str, Any]]:
    """Yield what each case found: two workers of which some are killed, or with `is_long` one worker and a control."""
    from dragoman.cluster.cluster_workers import ClusterWorkers

    local = prepared(work / "local")
    yield "manifest", sha256_of_file(work / "local/prepared/manifest.json")
    if not is_long:
        with ClusterWorkers(2) as two:
            killer = Killer(two.cluster.actors)
            yield "2 workers", prepared(work / "two", two, killer) == local
            yield "killed", len(set(killer.killed))
            yield "manifest of 2 workers", sha256_of_file(work / "two/prepared/manifest.json")
        return
    with ClusterWorkers(1) as one:
        yield "1 worker", prepared(work / "one", one) == local
    with ClusterWorkers(1) as losing:
        try:
            list(losing.run(failing, range(3)))
        except Exception as error:  # noqa: BLE001 -- reported
            yield "not shared", f"{type(error).__name__}: {error}"
        losing._there = without_last(losing._there)  # type: ignore[method-assign]
        yield "a chunk is lost", prepared(work / "lost", losing) == local
        yield "manifest without a chunk", sha256_of_file(work / "lost/prepared/manifest.json")


def found(work: Path, *, is_long: bool) -> dict[str, Any]:
    """What each case found; Ray must run."""
    clean_stage._CHUNK_PAIRS = 64
    decisions._ROWS_A_TASK = 100
    return dict(cases(work, is_long=is_long))


if __name__ == "__main__":
    with ray_session("ray", processors=2):
        report = found(Path(sys.argv[1]), is_long=True)
    print(json.dumps(report))
