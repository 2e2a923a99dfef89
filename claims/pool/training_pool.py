"""Train the models of the pool: each once, one thread each, a few processes at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from claims.ledger.claim import Ledger
from claims.ledger.record import RecordStore
from claims.pool.pool_corpus import open_corpus_files
from claims.pool.pool_model import PoolModel, PoolRun, required_searches
from claims.pool.probe_run import ProbeRun
from claims.pool.training_worker import WorkOrder
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.worker_processes import Workers
from dragoman.errors import DataError
from dragoman.progress import NoProgress
from dragoman.stop_signal import StopSignal

CLONE = Path(__file__).parents[2]
"""Folder from which the processes import `claims`."""

_POLL_SECONDS = 1.0


@dataclass
class TrainingPool:
    """Starts one process per model. ``pool.pids`` in `work` lists them; a file ``pool.stop`` there ends the queue.

    After a stop the running models are checkpointed; the next run resumes them.
    """

    ledger: Ledger
    data: Path
    work: Path
    records: RecordStore
    jobs: int = 2
    commit: str = ""
    incomplete: set[str] = field(default_factory=set)
    """Keys of runs whose record lacks statistics: they are measured again, and trained again without their bundle."""
    report: Callable[[str], None] = lambda _: None
    running: dict[int, tuple[PoolRun, subprocess.Popen[bytes]]] = field(default_factory=dict)

    def missing(self, models: Sequence[PoolRun]) -> list[PoolRun]:
        """Return the models that have no record, or an incomplete one."""
        return [model for model in models if not self.records.has(model) or model.key in self.incomplete]

    def train(self, models: Sequence[PoolRun]) -> bool:
        """Train all models that have no record; return False if the queue was stopped."""
        self.work.mkdir(parents=True, exist_ok=True)
        queue = self.missing(models)
        with StopSignal() as stop:
            try:
                while queue or self.running:
                    if stop.reason or self._is_stopped():
                        return False
                    while queue and len(self.running) < self.jobs:
                        self._start(queue.pop(0))
                    self._collect()
                    time.sleep(_POLL_SECONDS)
            finally:
                self._stop_all()
        return True

    def _start(self, model: PoolRun) -> None:
        folder = self.work.resolve() / "models" / model.name
        folder.mkdir(parents=True, exist_ok=True)
        record = str(self.records.path(model))
        if isinstance(model, ProbeRun):
            arguments = ["claims.pool.probe_worker", model.base, str(model.seed), record, self.commit]
        else:
            arguments = ["claims.pool.training_worker", str(self._order(model).write())]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 -- our own modules
                [sys.executable, "-m", *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=CLONE,
                start_new_session=True,
            )
        self.running[process.pid] = (model, process)
        self._write_pids()
        self.report(f"started   {model.label}")

    def _order(self, model: PoolModel) -> WorkOrder:
        searches = tuple(required_searches(self.ledger, model))
        record = self.records.path(model)
        order = WorkOrder(model, self.data.resolve(), self.work.resolve(), record, searches, self.commit)
        self._prepare(order)
        return order

    def _prepare(self, order: WorkOrder) -> None:
        """Prepare the data here: two workers must not write the same folder."""
        model = order.model
        corpus = open_corpus_files(model.corpus, order.data, order.work / "corpora" / model.corpus_name)
        with Preparation(
            corpus.config(model, order.prepared), order.folder, workers=Workers(), progress=NoProgress()
        ) as preparation:
            preparation.write()

    def _collect(self) -> None:
        for pid, (model, process) in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            del self.running[pid]
            self._write_pids()
            if code or not self.records.has(model):
                log = self.work / "models" / model.name / "log"
                raise DataError(f"the run of {model.label} must finish, got exit code {code}; read {log}")
            self.incomplete.discard(model.key)
            self.report(f"finished  {model.label}")

    def _is_stopped(self) -> bool:
        return (self.work / "pool.stop").exists()

    def _write_pids(self) -> None:
        (self.work / "pool.pids").write_text("".join(f"{pid}\n" for pid in self.running), encoding="utf-8")

    def _stop_all(self) -> None:
        for pid, (_, process) in self.running.items():
            if process.poll() is None:
                os.kill(pid, signal.SIGTERM)
        for model, process in self.running.values():
            process.wait()
            self.report(f"stopped   {model.label}")
        self.running.clear()
        self._write_pids()
