"""Work divided among processes; what comes out does not depend on how many there are.

Imports nothing heavy: it is the first module a new worker process loads.
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

__all__ = ["ALONE", "Share", "Workers", "in_child", "step_of"]

Share = Callable[[float], None]
"""Is called with the share of the work that is done, from 0 to 1."""

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD = 2  # tasks that wait for each process: none idles, and what is read ahead stays small


class Workers:
    """Processes that do the same kind of work on one task after the other.

    They are started when there is more than one task to do, and stay until `close`; one process means this one.
    """

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the processes end; what they have begun they finish."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The result of each task, in the order of the tasks; none may write what another one of the run reads.

        Tasks are taken only as fast as they are worked off, so an endless or very large supply of them is fine.
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

    def run_all(self, work: Callable[[Task], Result], tasks: Sequence[Task], share: Share | None) -> Iterator[Result]:
        """As `run`, for a known number of tasks: after each, the share that is done is told."""
        for done, result in enumerate(self.run(work, tasks), start=1):
            yield result
            if share is not None:
                share(done / len(tasks))

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not by fork: threads of the data frame library may hold locks that the child would wait for in vain.
            self._pool = ProcessPoolExecutor(self.processes, mp_context=get_context("spawn"), initializer=_begin)
        return self._pool


def _until_failure(tasks: Iterator[Task], failures: list[Exception]) -> Iterator[Task]:
    """Tasks, until there are no more or the next one cannot be made: that is told after the results of the others."""
    while True:
        try:
            task = next(tasks)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 -- it is raised again, later
            failures.append(error)
            return
        yield task


ALONE = Workers()
"""This process, and no other."""


def step_of(share: Share | None, done: int, steps: int) -> Share | None:
    """The share of one step, as a share of all."""
    return None if share is None else lambda part: share((done + part) / steps)


def in_child(work: Callable[[Task], Result], task: Task) -> Result:
    """The result of one task, done in a process that then gives all its memory back."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin) as pool:
        future = pool.submit(work, task)
        try:
            return future.result()
        except BrokenProcessPool:
            raise _killed(1) from None
        except KeyboardInterrupt:  # it may take minutes, and leaves interrupts to us
            for child in active_children():
                child.terminate()
            raise


def _begin() -> None:
    """In a new worker: leave interrupts to the parent, and the other cores to the other workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported, which is later
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _killed(processes: int) -> DragomanError:
    return DragomanError(
        f"worker processes must stay alive, got one of {processes} killed, most often for want of memory: run it again "
        "with --processes 1, and what is done already is not done again; or, in a script of yours, for want of "
        'if __name__ == "__main__": around its main part'
    )
