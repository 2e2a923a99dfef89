"""Train on a Ray cluster; after the loss of a worker, start all of them again from the last checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import ray

from dragoman.api.training.run_files import BUNDLE, CHECKPOINTS
from dragoman.cluster.training_group import TrainingGroup, WorkerLost
from dragoman.cluster.training_worker import Event, TrainingJob
from dragoman.cluster.worker_pool import default_workers
from dragoman.config import Config
from dragoman.errors import ConfigError, TrainingError
from dragoman.stop_signal import StopRequested, StopSignal

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult
    from dragoman.training.callbacks.events import TrainerCallback

__all__ = ["ClusterTrainer"]

_RESTARTS = 3  # without a new checkpoint


class ClusterTrainer:
    """Trains with the same loop as one process, on several workers; Ray must be initialised.

    `workers` are as many as fit on the cluster by default, and a divisor of the batches of an update. A worker has one
    GPU, if the configuration and the cluster have GPUs, and one processor for each thread.
    """

    def __init__(self, config: Config, workers: int | None = None) -> None:
        settings = config.training
        self._resources = {"CPU": float(settings.threads or 1)}
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        gpus = int(resources.get("GPU", 0)) if settings.device != "cpu" else 0
        if settings.device == "cuda" or gpus:
            self._resources["GPU"] = 1.0
        most = min(default_workers(settings.threads or 1), gpus or settings.micro_batches)
        self.workers = workers or max(n for n in range(1, most + 1) if settings.micro_batches % n == 0)
        if settings.micro_batches % self.workers:
            raise ConfigError(
                f"training.micro_batches must be a multiple of --workers = {self.workers}, got "
                f"{settings.micro_batches}; for instance --set training.micro_batches={self.workers}"
            )

    def train(self, job: TrainingJob, *, resume: bool, callbacks: Sequence[TrainerCallback] = ()) -> TrainResult:
        """Train until the end or a stop signal; all callbacks are called in this process."""
        from dragoman.training.callbacks.events import CallbackList  # noqa: PLC0415 -- imports torch

        callback = CallbackList(*callbacks)

        def forward(event: Event) -> None:
            name, arguments = event
            getattr(callback, name)(*arguments)

        restarts = 0
        with StopSignal() as stop:
            while True:
                before = _newest_checkpoint(job.run)
                try:
                    with TrainingGroup(job, self.workers, self._resources, stop) as group:
                        group.start()
                        return _with_bundle(group.train(forward, resume=resume))
                except StopRequested:
                    return _stopped(job.run, stop.reason)
                except WorkerLost as lost:
                    if stop.reason:
                        return _stopped(job.run, stop.reason)
                    restarts = 1 if _newest_checkpoint(job.run) != before else restarts + 1
                    if restarts > _RESTARTS:
                        raise TrainingError(
                            f"workers must reach the next checkpoint, got {_RESTARTS + 1} times one that ended before "
                            f"it ({lost}); they may need more memory: see docs/training.md, and continue with --resume"
                        ) from None
                    resume = True
                    callback.on_message(
                        f"a worker ended unexpectedly; all start again from the last checkpoint: {lost}"
                    )


def _with_bundle(trained: TrainResult) -> TrainResult:
    """Open the bundle that the main worker wrote."""
    from dragoman.bundle import Bundle  # noqa: PLC0415 -- not needed by workers

    return (
        replace(trained, bundle=Bundle.open(trained.run / BUNDLE, trusted=True))
        if trained.ended.is_complete
        else trained
    )


def _newest_checkpoint(run: Path) -> int:
    """Return the update of the newest checkpoint, damaged or not; -1 if there is none."""
    from dragoman.training.checkpoint.store import CheckpointStore  # noqa: PLC0415 -- imports torch

    return max(CheckpointStore(run / CHECKPOINTS).steps(), default=-1)


def _stopped(run: Path, reason: str) -> TrainResult:
    """Return the result of a run that was stopped without an answer of its workers; it can be resumed."""
    from dragoman.api.training.training_run import TrainResult  # noqa: PLC0415 -- imports torch
    from dragoman.training.callbacks.events import TrainingEnded  # noqa: PLC0415 -- imports torch

    update = max(0, _newest_checkpoint(run))
    return TrainResult(TrainingEnded(reason, update, 0.0, 0, best_update=None, best_value=None, metric=""), run)
