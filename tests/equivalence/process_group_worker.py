"""Real processes that train together over gloo, and what each of them reports.

The processes are started once and run many jobs: each job has its own process group, with a file as rendezvous.
Warnings are errors in them too.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import distributed

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import Config
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.training.callbacks.events import CallbackList, StepEvent

SIZES = (1, 2, 4)
PATIENCE = 300  # seconds for a job of a second: the machine may be busy


@dataclass(frozen=True)
class Job:
    """One start of a training; an existing run is resumed."""

    config: Config
    folder: Path
    run: Path
    stop_after: int = 0
    """Only this rank receives a stop signal, after this update."""
    stopping_rank: int = 0
    setup: Callable[[], None] | None = None
    """Called in each process before it trains: something to put out of order."""


@dataclass
class Report:
    """What one process saw."""

    why: str = ""
    update: int = 0
    rows: list[list[int]] = field(default_factory=list)
    """The names of the pairs of each batch it drew, in order."""
    losses: dict[int, float] = field(default_factory=dict)
    """By update; of the first process only."""


class Together:
    """A pool of worker processes."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def __call__(self, size: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What `work(rank, size, *arguments)` returns on each of the processes."""
        room = tempfile.mkdtemp(prefix="dragoman-world-")
        try:
            futures = [
                self._executor.submit(_in_group, rank, size, f"{room}/meet", work, arguments) for rank in range(size)
            ]
            return [future.result(timeout=PATIENCE) for future in futures]
        finally:
            shutil.rmtree(room, ignore_errors=True)

    def train(self, size: int, job: Job) -> list[Report]:
        """Train with this number of processes."""
        return self(size, train_in_world, job)


@contextmanager
def processes() -> Iterator[Together]:
    """Processes that are copies of one that has imported all there is to import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(max_workers=max(SIZES), mp_context=context) as executor:
        yield Together(executor)


def _in_group(rank: int, size: int, meet: str, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if size == 1:
            return work(rank, size, *arguments)
        distributed.init_process_group(
            "gloo", init_method=f"file://{meet}", rank=rank, world_size=size, timeout=timedelta(seconds=PATIENCE)
        )
        try:
            return work(rank, size, *arguments)
        finally:
            distributed.destroy_process_group()


class _Watching(CallbackList):
    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report

    def on_update(self, moment: StepEvent) -> None:
        self.report.losses[moment.update] = moment.loss


def train_in_world(rank: int, size: int, job: Job) -> Report:
    """`dragoman.api.training.training_run.train_model`, watched."""
    report = Report()
    draw = BatchLoader.__next__
    per_update = job.config.training.micro_batches // size

    def watched(loader: BatchLoader) -> Batch:
        batch = draw(loader)
        report.rows.append(batch.rows.tolist())
        if rank == job.stopping_rank and len(report.rows) == job.stop_after * per_update:
            os.kill(os.getpid(), signal.SIGTERM)
        return batch

    if job.setup is not None:
        job.setup()
    with mock.patch.object(BatchLoader, "__next__", watched):
        trained = train_model(
            check_training(job.config, job.folder, job.run, resume=True), callbacks=[_Watching(report)]
        )
    report.why, report.update = trained.ended.why, trained.ended.update
    return report
