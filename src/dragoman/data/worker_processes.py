"""Run tasks in worker processes, with equal results for any number. No heavy imports: workers load this first."""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from types import ModuleType
from typing import Any, Self, TypeVar

from dragoman.errors import ConfigError, DragomanError

ProgressCallback = Callable[[float], None]
"""Called with the completed share of the work, from 0 to 1."""

Task = TypeVar("Task")
Result = TypeVar("Result")

_hidden = Lock()

_AHEAD = 2  # queued tasks per process: no process idles, and little is read ahead
_POLL = 0.2  # seconds between checks for Ctrl-C


class Workers:
    """A pool of processes, started for more than one task and run until `close`; with 1, tasks run in this process."""

    def __init__(self, processes: int = 1) -> None:
        given: Any = processes  # of a user of the library
        if not isinstance(given, int) or given < 1:
            raise ConfigError(f"processes must be a whole number from 1, got {processes!r}; 1 uses this process alone")
        self.processes = processes
        self._has_pool = processes > 1
        self._context = _SpawnContext()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._context.kill_processes()
        self.close()

    def close(self) -> None:
        """End the processes after their current tasks."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of independent tasks, read meanwhile, in order; one may run again after a lost worker."""
        failures: list[Exception] = []
        supply = _until_failure(iter(tasks), failures)
        first = list(islice(supply, 2))
        results = self._there if self._has_pool and len(first) > 1 else self._here
        yield from results(work, chain(first, supply))
        if failures:
            raise failures[0]

    def _here(self, work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
        return map(work, tasks)

    def _there(self, work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
        waiting: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                with without_main_module():
                    waiting.append(self._started().submit(work, task))
                if len(waiting) > _AHEAD * self.processes:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        except BrokenProcessPool:
            self._pool = None
            raise _killed(self.processes) from None
        finally:
            for future in waiting:
                future.cancel()

    def run_all(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], share: ProgressCallback | None
    ) -> Iterator[Result]:
        """Like `run`, for a known number of tasks; the completed share is reported after each."""
        for done, result in enumerate(self.run(work, tasks), start=1):
            yield result
            if share is not None:
                share(done / len(tasks))

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.processes, mp_context=self._context, initializer=_begin)
        return self._pool


class StartedProcesses:
    """Mixin of a multiprocessing context that records the processes it starts, to end them at once."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[BaseProcess] = []

    def Process(self, *arguments: Any, **settings: Any) -> BaseProcess:  # noqa: N802 -- named by multiprocessing
        """Create a process and record it."""
        process: BaseProcess = super().Process(*arguments, **settings)  # type: ignore[misc]
        self._started.append(process)
        return process

    def kill_processes(self) -> None:
        """End all processes without waiting for their tasks."""
        for process in self._started:
            with suppress(ValueError):  # closed already
                if process.pid is not None:
                    process.kill()
        self._started.clear()


class _SpawnContext(StartedProcesses, SpawnContext):  # type: ignore[misc] # a method instead of a class
    """Start processes by `spawn`. Not by fork: threads of polars may hold locks that a child would never release."""


def _result(future: Future[Result]) -> Result:
    """Wait for a result, with timeouts: Ctrl-C delivered to another thread needs a running main thread."""
    while not wait([future], timeout=_POLL).done:
        pass
    return future.result()


def _until_failure(tasks: Iterator[Task], failures: list[Exception]) -> Iterator[Task]:
    """Yield tasks until the iterator ends or fails; the error is stored, to be raised after the other results."""
    while True:
        try:
            task = next(tasks)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 -- it is raised again, later
            failures.append(error)
            return
        yield task


IN_PROCESS = Workers()
"""Workers that run tasks in this process."""


def step_progress(share: ProgressCallback | None, done: int, steps: int) -> ProgressCallback | None:
    """Return a callback that converts the share of one step to the share of all steps."""
    return None if share is None else lambda part: share((done + part) / steps)


def run_in_child(work: Callable[[Task], Result], task: Task) -> Result:
    """Run one task in a new process, which then releases its memory. Ctrl-C ends it."""
    context = _SpawnContext()
    with ProcessPoolExecutor(1, mp_context=context, initializer=_begin) as pool:
        with without_main_module():
            future = pool.submit(work, task)
        try:
            return _result(future)
        except BrokenProcessPool:
            raise _killed(1) from None
        except KeyboardInterrupt:  # the child ignores interrupts and may run for minutes
            context.kill_processes()
            raise


@contextmanager
def without_main_module() -> Iterator[None]:
    """Start processes that do not import the script of this process, which would run again in each of them."""
    with _hidden:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _begin() -> None:
    """Initialize a worker: ignore interrupts, and use one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported, which is later
    end_with_parent()


def end_with_parent() -> None:
    """End this worker when the process that started it ends or is killed; otherwise it would wait for tasks forever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _killed(processes: int) -> DragomanError:
    return DragomanError(
        f"one of {processes} worker processes was killed, usually for lack of memory; run the command "
        "again with --processes 1, which continues from the finished parts"
    )
