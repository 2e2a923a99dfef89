"""One process of a training on a cluster: train as a process of torchrun does, report events, stop on request.

This module has no heavy imports: a new worker process loads it first.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from dragoman.cluster.worker_pool import installed_versions
from dragoman.config import Config
from dragoman.environment import limit_kernel_caches
from dragoman.errors import DataError
from dragoman.files import file_lock, sha256_of_file
from dragoman.network_access import network_access
from dragoman.run_files import LOCK
from dragoman.stop_signal import StopSignal

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult
    from dragoman.training.callbacks.events import StepEvent, TrainingEnded, TrainingStarted, ValidationEvent

_LOCK_TIMEOUT = 60.0  # seconds in which the processes of a lost node, or of a killed command, must have ended
_PACKAGES = ("numpy", "pyarrow", "safetensors", "sentencepiece", "torch")

Event = tuple[str, tuple[Any, ...]]
"""Name and arguments of a call of a `TrainerCallback`."""


@dataclass(frozen=True)
class TrainingJob:
    """What to train. Paths are absolute, and all nodes must share the files."""

    config: Config
    folder: Path
    """Folder that relative paths of the configuration start from."""
    run: Path
    loader_workers: int = 0
    allow_network: bool = False
    checkpoint_url: str | None = None
    overrides: Sequence[str] | None = None

    @property
    def manifest(self) -> Path:
        assert self.config.data is not None
        return self.folder / self.config.data.folder / "manifest.json"


@dataclass(frozen=True)
class WorkerDescription:
    """What must be equal on all workers."""

    versions: dict[str, str]
    data: str
    """SHA-256 of the manifest of the prepared data."""

    @classmethod
    def of_this_process(cls, job: TrainingJob) -> WorkerDescription:
        return cls(installed_versions(*_PACKAGES), sha256_of_file(job.manifest))


class TrainingWorker:
    """Trains with one rank. `events` and `stop` are called while `train` runs."""

    def __init__(self) -> None:
        limit_kernel_caches()
        self._events = _EventQueue()
        self._stop = StopSignal()

    def describe(self, job: TrainingJob, mark: Path) -> WorkerDescription:
        """Describe this process; raise `DataError` unless the prepared data and `mark`, a file of the run, exist."""
        for path in (job.manifest, mark):
            if not path.is_file():
                raise DataError(
                    f"a node does not see {path.name} in {path.parent}; put the "
                    "prepared data and the run (--output) on a file system that every node has at the same path"
                )
        return WorkerDescription.of_this_process(job)

    def address(self) -> tuple[str, int]:
        """Return the host of this process and a free port."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            host: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
            return host, probe.getsockname()[1]

    def train(self, job: TrainingJob, rank: int, size: int, address: tuple[str, int], *, resume: bool) -> TrainResult:
        """Train as one of `size` processes; the result has no bundle, which is in the folder of the run."""
        host, port = address
        os.environ |= {"MASTER_ADDR": host, "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(size)}
        os.environ["LOCAL_RANK"] = "0"  # Ray shows a process its own GPU only
        if rank == 0 and resume:
            _wait_for_lock(job.run / LOCK)
        from dragoman.api.training.checked_training import check_training  # noqa: PLC0415 -- takes a second
        from dragoman.api.training.training_run import train_model  # noqa: PLC0415 -- imports torch

        with network_access(job.allow_network):
            trained = train_model(
                check_training(job.config, job.folder, job.run, resume=resume, overrides=job.overrides),
                callbacks=[self._events],
                loader_workers=job.loader_workers,
                stop=self._stop,
                checkpoint_url=job.checkpoint_url,
            )
        return replace(trained, bundle=None)

    def events(self) -> list[Event]:
        return self._events.take()

    def stop(self, reason: str) -> None:
        """Stop after the current update, with a checkpoint."""
        self._stop.request(reason)


def _wait_for_lock(path: Path) -> None:
    """Wait until the previous main process has ended: it outlives its raylet, or its driver, for some seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while time.monotonic() < deadline:
        with file_lock(path) as is_free:
            if is_free:
                return
        time.sleep(0.1)


class _EventQueue:
    """A `TrainerCallback` that keeps all events until they are taken, by another thread."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()

    def take(self) -> list[Event]:
        return [self._events.popleft() for _ in range(len(self._events))]

    def _add(self, name: str, *arguments: Any) -> None:
        self._events.append((name, arguments))

    def on_start(self, started: TrainingStarted) -> None:
        self._add("on_start", started)

    def on_update(self, event: StepEvent) -> None:
        self._add("on_update", event)

    def on_validation_start(self, update: int) -> None:
        self._add("on_validation_start", update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        self._add("on_validation_end", event)

    def on_checkpoint_start(self, update: int) -> None:
        self._add("on_checkpoint_start", update)

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        self._add("on_checkpoint_end", update, folder)

    def on_message(self, text: str) -> None:
        self._add("on_message", text)

    def on_end(self, ended: TrainingEnded) -> None:
        self._add("on_end", ended)
