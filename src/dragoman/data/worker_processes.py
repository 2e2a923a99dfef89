"""Run tasks in worker processes; results do not depend on the number of processes.

This module has no heavy imports: a new worker process loads it first.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from types import TracebackType
from typing import Self, TypeVar

from dragoman.errors import DragomanError

__all__ = ["IN_PROCESS", "ProgressCallback", "Workers", "run_in_child", "step_progress"]

ProgressCallback = Callable[[float], None]
"""Called with the completed share of the work, from 0 to 1."""

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD = 2  # queued tasks per process: no process idles, and little is read ahead


class Workers:
    """A pool of processes.

    They are started when there is more than one task, and run until `close`; with 1, tasks run in this process.
    """

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the processes after their current tasks."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the result of each task in order; no task may write what another task of the run reads.

        The iterator of tasks is read during processing, so it may be very large or infinite.
        """
        failures: list[Exception] = []
        supply = _until_failure(iter(tasks), failures)
        first = list(islice(supply, 2))
        results = self._here if self.processes == 1 or len(first) < 2 else self._there
        yield from results(work, chain(first, supply))
        if failures:
            raise failures[0]

    def _here(self, work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
        return map(work, tasks)

    def _there(self, work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
        waiting: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                waiting.append(self._started().submit(work, task))
                if len(waiting) > _AHEAD * self.processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
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
            # Not fork: threads of polars may hold locks that would never be released in the child.
            self._pool = ProcessPoolExecutor(self.processes, mp_context=get_context("spawn"), initializer=_begin)
        return self._pool


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
    """Run one task in a new process, which then releases its memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin) as pool:
        future = pool.submit(work, task)
        try:
            return future.result()
        except BrokenProcessPool:
            raise _killed(1) from None
        except KeyboardInterrupt:  # the child ignores interrupts and may run for minutes
            for child in active_children():
                child.terminate()
            raise


def _begin() -> None:
    """Initialize a worker: ignore interrupts, and use one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported, which is later
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End the worker if its parent is killed; otherwise it would wait for tasks forever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _killed(processes: int) -> DragomanError:
    return DragomanError(
        f"worker processes must stay alive, got one of {processes} killed, usually for lack of memory; run the command "
        "again with --processes 1, which continues from the finished parts; a script needs "
        'if __name__ == "__main__": around its main part'
    )
