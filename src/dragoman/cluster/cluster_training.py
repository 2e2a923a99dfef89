"""Train on processes of a Ray cluster; after the loss of one, start all again from the last checkpoint."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from dragoman.cluster.training_worker import Event, TrainingJob, TrainingWorker, WorkerDescription
from dragoman.cluster.worker_pool import default_workers, task_error
from dragoman.config import Config
from dragoman.errors import ConfigError, DragomanError, TrainingError
from dragoman.run_files import BUNDLE, CHECKPOINTS
from dragoman.stop_signal import StopRequested, StopSignal

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult
    from dragoman.training.callbacks.events import TrainerCallback

_START_TIMEOUT = 300.0  # seconds; after the loss of a node, also for another node to join
_POLL = 0.2  # seconds
_EVENTS_TIMEOUT = 10.0  # seconds; without an answer the node may be lost, which Ray then finds out
_ERROR_TIMEOUT = 10.0  # seconds after the first error: whether it is the consequence of a lost worker
_CALLS = 4  # that a worker runs at a time: train, events, stop
_RESTARTS = 3  # without a new checkpoint


class WorkerLost(Exception):  # noqa: N818 -- not an error: the group is started again
    """A worker, or its connection to the others, ended unexpectedly."""


class TrainingGroup:
    """Workers that train together, each with `resources`. A context manager that ends them; Ray must be initialised.

    While workers start, a stop signal raises `StopRequested`.
    """

    def __init__(self, job: TrainingJob, workers: int, resources: dict[str, float], stop: StopSignal) -> None:
        self._job, self._stop = job, stop
        self._places = placement_group([dict(resources)] * workers)
        self._actors: list[Any] = []
        self._resources = resources
        self._workers = workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RayError):
            for actor in self._actors:
                ray.kill(actor)
            remove_placement_group(self._places)

    def start(self) -> None:
        """Start the workers, and check that they have the same files and versions as this process."""
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._places.wait(_POLL):
            self._check_start(deadline)
        strategy = PlacementGroupSchedulingStrategy(placement_group=self._places)
        worker: Any = ray.remote(TrainingWorker)
        actor = worker.options(
            num_cpus=self._resources["CPU"],
            num_gpus=self._resources.get("GPU", 0),
            max_concurrency=_CALLS,
            scheduling_strategy=strategy,
        )
        self._actors = [actor.remote() for _ in range(self._workers)]
        expected = WorkerDescription.of_this_process(self._job)
        with _mark(self._job.run) as mark:
            found = self._wait([actor.describe.remote(self._job, mark) for actor in self._actors])
        for each in found:
            if each.data != expected.data:
                raise ConfigError(
                    f"{self._job.manifest} differs between nodes; put the prepared data on a "
                    "file system that every node has at the same path"
                )
            if each != expected:
                raise ConfigError(
                    "all workers must have the same versions as this process; install the same packages on every node"
                )

    def train(self, forward: Callable[[Event], None], *, resume: bool) -> TrainResult:
        """Train until the end or a stop signal; `forward` receives the events of the main process."""
        [address] = self._wait([self._actors[0].address.remote()])
        calls = [
            actor.train.remote(self._job, rank, self._workers, address, resume=resume)
            for rank, actor in enumerate(self._actors)
        ]
        pending, is_stopping = calls, False
        while pending:
            finished, pending = ray.wait(pending, timeout=_POLL)
            self._forward_events(forward)
            if self._stop.reason and not is_stopping:
                is_stopping = True
                for actor in self._actors:
                    actor.stop.remote(self._stop.reason)
            if any(_error(call) for call in finished):
                self._raise(calls, pending)
        trained: TrainResult = ray.get(calls[0])
        return trained

    def _forward_events(self, forward: Callable[[Event], None]) -> None:
        try:
            events: list[Event] = ray.get(self._actors[0].events.remote(), timeout=_EVENTS_TIMEOUT)
        except (RayError, GetTimeoutError):
            return  # the call of `train` has the reason
        for event in events:
            forward(event)

    def _raise(self, calls: Sequence[Any], pending: Sequence[Any]) -> None:
        """Raise the error of the first rank that has one, or `WorkerLost`.

        The others of a lost worker fail too, or wait for it. An error of torch between processes has the same reason.
        """
        if pending and not any(isinstance(_error(call), WorkerLost) for call in calls if call not in pending):
            ray.wait(list(pending), num_returns=len(pending), timeout=_ERROR_TIMEOUT)
        ended, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        errors = [error for call in calls if call in ended and (error := _error(call)) is not None]
        order = (WorkerLost, DragomanError, Exception)
        error = next(each for kind in order for each in errors if isinstance(each, kind))
        cause = getattr(error, "cause", None)
        if isinstance(cause, RuntimeError) and not isinstance(error, DragomanError) and self._workers > 1:
            raise WorkerLost(str(cause).partition("\n")[0]) from None
        raise error

    def _wait(self, references: list[Any]) -> list[Any]:
        """Return the results of calls that start workers."""
        deadline = time.monotonic() + _START_TIMEOUT
        pending = references
        while pending:
            self._check_start(deadline)
            _, pending = ray.wait(pending, num_returns=len(pending), timeout=_POLL)
        for reference in references:
            if error := _error(reference):
                raise error
        results: list[Any] = ray.get(references)
        return results

    def _check_start(self, deadline: float) -> None:
        self._stop.check()
        if time.monotonic() > deadline:
            needed = " and ".join(f"{amount:g} {name}" for name, amount in self._resources.items())
            raise ConfigError(
                f"{self._workers} workers with {needed} each must start within {_START_TIMEOUT:.0f} seconds, got "
                "fewer; the cluster may have too few free processors: use fewer --workers, with --resume"
            )


def _error(call: Any) -> BaseException | None:
    """Return the error of a finished call: `WorkerLost` if the worker ended."""
    try:
        ray.get(call)
    except RayTaskError as error:
        return task_error(error)
    except RayError as error:
        return WorkerLost(str(error).partition("\n")[0])
    return None


@contextmanager
def _mark(folder: Path) -> Iterator[Path]:
    """Create a file by which workers recognise a folder: another node may have one of the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".shared-{secrets.token_hex(8)}"
    path.touch()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


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
    from dragoman.training.checkpoint import CheckpointStore  # noqa: PLC0415 -- imports torch

    return max(CheckpointStore(run / CHECKPOINTS).steps(), default=-1)


def _stopped(run: Path, reason: str) -> TrainResult:
    """Return the result of a run that was stopped without an answer of its workers; it can be resumed."""
    from dragoman.api.training.training_run import TrainResult  # noqa: PLC0415 -- imports torch
    from dragoman.training.callbacks.events import TrainingEnded  # noqa: PLC0415 -- imports torch

    update = max(0, _newest_checkpoint(run))
    return TrainResult(TrainingEnded(reason, update, 0.0, 0, best_update=None, best_value=None, metric=""), run)
