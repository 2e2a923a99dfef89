"""Run tasks on workers of a Ray cluster, in the order of the tasks.

A worker that ends unexpectedly is started again, on another node if one has free processors, and its tasks are run
again. The results do not change if each depends on its task and the description of the worker alone: every result is
compared with the description of the first worker.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isinf
from typing import Any, Generic, Protocol, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.version import __version__

_RETRIES = 3  # of a task whose worker ended
_AHEAD = 2  # tasks of each worker: the next one is there when a task is finished
_WAITING = 8  # finished tasks per worker that wait for an earlier one
_START_TIMEOUT = 300.0  # seconds
_STALL_TIMEOUT = 1800.0  # seconds without a finished task: a lost node may leave no processor for its workers

Task = TypeVar("Task")
Result = TypeVar("Result")


class PoolWorker(Protocol):
    """What a process of the cluster holds."""

    def describe(self) -> Any:
        """Return all that results depend on except the task; it must be equal on all workers."""

    def __call__(self, task: Any, /) -> Any:
        """Run a task."""


@dataclass(frozen=True)
class PoolMessages(Generic[Task]):
    """Parts of error messages."""

    name: Callable[[Task], str]
    """Returns what must be done for a task, for instance "a.txt:1-64 must be translated"."""
    same: str
    """What all workers must have, and how to achieve that."""
    start: str
    """What workers do when they start."""
    unit: str
    """Name of a task."""
    again: str
    """How to continue with fewer workers."""


def default_workers(processors: int) -> int:
    """Return the number of workers with some processors each that fit on the nodes of the cluster."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    counts = [int(node["Resources"].get("CPU", 0)) // processors for node in nodes if node["Alive"]]
    return max(1, sum(counts))


def installed_versions(*packages: str) -> dict[str, str]:
    """Return the versions of Dragoman and of those packages that are installed."""
    found = {"dragoman": __version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class _Reply:
    """The result of a task, and the description of the worker."""

    result: Any
    description: Any


class _Actor:
    """A process of the cluster."""

    def __init__(self, open_: Callable[[], PoolWorker]) -> None:
        self._open = open_

    @functools.cached_property
    def _worker(self) -> PoolWorker:  # not opened by the constructor, whose errors Ray passes on as text
        return self._open()

    @functools.cached_property
    def _description(self) -> Any:
        return self._worker.describe()

    def describe(self) -> Any:
        return self._description

    def run(self, task: Any) -> _Reply:
        return _Reply(self._worker(task), self._description)


@dataclass
class _Pending(Generic[Task]):
    """A task, the worker that runs it, and its result, if there is one."""

    task: Task
    worker: int
    reference: Any
    is_done: bool = False


class WorkerPool(Generic[Task, Result]):
    """Workers with `ahead` tasks each; `run` fails after `stall_timeout` seconds without a finished task."""

    def __init__(
        self,
        open_: Callable[[], PoolWorker],
        messages: PoolMessages[Task],
        *,
        workers: int,
        processors: int,
        ahead: int = _AHEAD,
        stall_timeout: float = _STALL_TIMEOUT,
    ) -> None:
        self._ahead, self._stall_timeout = ahead, stall_timeout
        actor = ray.remote(num_cpus=processors, max_restarts=-1, max_task_retries=_RETRIES)(_Actor)
        self.actors: list[Any] = [actor.remote(open_) for _ in range(workers)]
        self._messages = messages
        try:
            self.description = self._describe()
        except BaseException:
            self.close()
            raise

    def _describe(self) -> Any:
        references = [actor.describe.remote() for actor in self.actors]
        try:
            first, *others = ray.get(references, timeout=_START_TIMEOUT)
        except RayTaskError as error:
            raise task_error(error) from None
        except ray.exceptions.GetTimeoutError:
            raise ConfigError(
                f"{len(self.actors)} workers must start within {_START_TIMEOUT:.0f} seconds, got fewer; the cluster "
                "may have too few free processors: use fewer --workers"
            ) from None
        except RayError:
            raise ConfigError(
                f"a worker ended unexpectedly before it could {self._messages.start}; they may need more memory: use "
                "fewer --workers"
            ) from None
        for other in others:
            self.check(other, first)
        return first

    def check(self, description: Any, expected: Any) -> None:
        """Raise `ConfigError` if a worker has another description."""
        if description != expected:
            raise ConfigError(f"all workers must have the same {self._messages.same}")

    def close(self) -> None:
        for actor in self.actors:
            ray.kill(actor)

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each task with its result, in the order of the tasks, which are read during processing."""
        pending: deque[_Pending[Task]] = deque()
        running: dict[Any, _Pending[Task]] = {}
        load = [0] * len(self.actors)
        is_end = False
        while True:
            most, waiting = self._ahead * len(load), (self._ahead + _WAITING) * len(load)
            while not is_end and len(running) < most and len(pending) < waiting:
                try:
                    task = next(tasks)
                except StopIteration:
                    is_end = True
                    break
                worker = min(range(len(load)), key=load.__getitem__)
                each = _Pending(task, worker, self.actors[worker].run.remote(task))
                load[worker] += 1
                pending.append(each)
                running[each.reference] = each
            if not pending:
                return
            if not pending[0].is_done:
                seconds = self._stall_timeout
                ready, _ = ray.wait(list(running), num_returns=1, timeout=None if isinf(seconds) else seconds)
                if not ready:
                    raise DataError(
                        f"workers must finish a {self._messages.unit} within {seconds:.0f} seconds; "
                        f"the cluster may have lost a node: {self._messages.again}"
                    )
                finished = running.pop(ready[0])
                finished.is_done = True
                load[finished.worker] -= 1
                continue
            each = pending.popleft()
            reply = self._reply(each)
            self.check(reply.description, self.description)  # a worker that was started again may have other files
            yield each.task, reply.result

    def _reply(self, each: _Pending[Task]) -> _Reply:
        try:
            reply: _Reply = ray.get(each.reference)
        except RayTaskError as error:
            raise task_error(error) from None
        except RayError:
            raise DataError(
                f"{self._messages.name(each.task)} by one of the workers, got {_RETRIES + 1} that ended unexpectedly; "
                "they may need more memory: use fewer --workers"
            ) from None
        return reply


def task_error(error: RayTaskError) -> BaseException:
    """Return the exception that a worker raised."""
    return error.cause if isinstance(error.cause, DragomanError) else error
