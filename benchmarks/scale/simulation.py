"""Discrete-event simulation of one driver and workers on many nodes, as `dragoman.cluster.worker_pool` schedules them.

The driver reads and sends one task after the other and receives results in order. A worker has a limited number of
tasks, and finished results that wait for an earlier one are limited too. Nodes fail at random; the tasks of their
workers run again when the node is back.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import simpy

AHEAD, WAITING = 2, 8  # as in dragoman.cluster.worker_pool; a test compares them


@dataclass(frozen=True)
class Cluster:
    """A cluster and its tasks; all times are in seconds."""

    tasks: int
    task_seconds: float
    driver_seconds: float
    """Time of the driver per task: reading, sending, writing."""
    nodes: int = 64
    workers_per_node: int = 8
    spread: float = 0.0
    """Standard deviation of the logarithm of a task's time."""
    straggler_share: float = 0.0
    straggler_factor: float = 1.0
    failure_hours: float = 0.0
    """Mean time between failures of a node; 0: none."""
    repair_seconds: float = 120.0
    task_bytes: float = 0.0
    bytes_per_second: float = 1.25e9
    """Of the driver's network."""
    store_bytes: float = 0.0
    """Size of the driver's object store; tasks beyond it wait; 0: no limit."""
    seed: int = 1

    @property
    def workers(self) -> int:
        return self.nodes * self.workers_per_node

    @property
    def ideal_seconds(self) -> float:
        """Time if all workers were always busy and the driver took no time."""
        return self.tasks * self.task_seconds / self.workers

    def without_faults(self) -> Cluster:
        """The same cluster with equal tasks and without failures."""
        return replace(self, spread=0.0, straggler_share=0.0, failure_hours=0.0)


@dataclass
class Outcome:
    """Result of a simulation."""

    seconds: float
    repeated: int
    """Tasks that ran again after a failure."""
    failures: int


def simulate(cluster: Cluster) -> Outcome:
    """Run all tasks once."""
    return _Simulation(cluster).run()


class _Simulation:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._draw = random.Random(cluster.seed)
        self._world = simpy.Environment()
        self._queues = [simpy.Store(self._world) for _ in range(cluster.workers)]
        self._load = [0] * cluster.workers
        self._is_done = bytearray(cluster.tasks)
        self._submitted = self._running = self._received = 0
        self._changed = self._world.event()
        self._repeated = self._failures = 0

    def run(self) -> Outcome:
        workers = [self._world.process(self._work(number)) for number in range(self._cluster.workers)]
        if self._cluster.failure_hours:
            size = self._cluster.workers_per_node
            for node in range(self._cluster.nodes):
                self._world.process(self._fail(workers[node * size : (node + 1) * size]))
        finished = self._world.process(self._drive())
        self._world.run(until=finished)
        return Outcome(self._world.now, self._repeated, self._failures)

    def _drive(self) -> Generator[Any, Any, None]:
        cluster = self._cluster
        send = cluster.driver_seconds + cluster.task_bytes / cluster.bytes_per_second
        running = AHEAD * cluster.workers
        if cluster.store_bytes and cluster.task_bytes:
            running = max(1, min(running, int(cluster.store_bytes / cluster.task_bytes)))
        while self._received < cluster.tasks:
            is_free = self._running < running
            is_near = self._submitted - self._received < (AHEAD + WAITING) * cluster.workers
            if self._submitted < cluster.tasks and is_free and is_near:
                yield self._world.timeout(send)
                worker = min(range(cluster.workers), key=self._load.__getitem__)
                self._load[worker] += 1
                self._running += 1
                self._queues[worker].put(self._submitted)
                self._submitted += 1
            else:
                yield self._changed

    def _work(self, number: int) -> Generator[Any, Any, None]:
        while True:
            task = yield from self._uninterrupted(self._queues[number])
            left = self._duration()
            while True:
                try:
                    yield self._world.timeout(left)
                    break
                except simpy.Interrupt:
                    self._repeated += 1
                    yield from self._repair()
            self._load[number] -= 1
            self._running -= 1
            self._is_done[task] = 1
            while self._received < self._cluster.tasks and self._is_done[self._received]:
                self._received += 1
            changed, self._changed = self._changed, self._world.event()
            changed.succeed()

    def _uninterrupted(self, queue: simpy.Store) -> Generator[Any, Any, int]:
        """Return the next task; a failure of an idle worker delays it."""
        request = queue.get()
        while True:
            try:
                task: int = yield request
                return task
            except simpy.Interrupt:
                yield from self._repair()

    def _repair(self) -> Generator[Any, Any, None]:
        end = self._world.now + self._cluster.repair_seconds
        while self._world.now < end:
            try:
                yield self._world.timeout(end - self._world.now)
            except simpy.Interrupt:
                continue

    def _fail(self, workers: list[simpy.Process]) -> Generator[Any, Any, None]:
        while True:
            yield self._world.timeout(self._draw.expovariate(1 / (3600 * self._cluster.failure_hours)))
            self._failures += 1
            for worker in workers:
                worker.interrupt()

    def _duration(self) -> float:
        cluster = self._cluster
        seconds = cluster.task_seconds
        if cluster.spread:  # the mean stays task_seconds
            seconds *= self._draw.lognormvariate(-(cluster.spread**2) / 2, cluster.spread)
        return seconds * (cluster.straggler_factor if self._draw.random() < cluster.straggler_share else 1.0)
