"""The processes of a training on a Ray cluster, from their start to the end of the first one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from dragoman.cluster.training_worker import Event, TrainingJob, TrainingWorker, WorkerDescription
from dragoman.cluster.worker_pool import task_error
from dragoman.errors import ConfigError, DragomanError
from dragoman.stop_signal import StopSignal

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult

__all__ = ["TrainingGroup", "WorkerLost"]

_START_TIMEOUT = 300.0  # seconds; after the loss of a node, also for another node to join
_POLL = 0.2  # seconds
_EVENTS_TIMEOUT = 10.0  # seconds; without an answer the node may be lost, which Ray then finds out
_ERROR_TIMEOUT = 10.0  # seconds after the first error: whether it is the consequence of a lost worker
_CALLS = 4  # that a worker runs at a time: train, events, stop


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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
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
                    f"{self._job.manifest} must be the same on all nodes, got another one; put the prepared data on a "
                    "file system that every node has at the same path"
                )
            if each != expected:
                raise ConfigError(
                    "all workers must have the same versions as this process, got different ones; install the same "
                    "packages on every node"
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
