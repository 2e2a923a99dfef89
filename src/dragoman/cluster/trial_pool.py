"""Train the trials of a search on workers of a Ray cluster."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from dragoman.api.tuning.trial_run import TrialRecord, TrialTask, run_trial
from dragoman.cluster.worker_pool import PoolMessages, WorkerPool, installed_versions
from dragoman.errors import ConfigError, DataError

_PACKAGES = ("torch", "numpy", "sacrebleu", "sentencepiece")
_MESSAGES: PoolMessages[TrialTask] = PoolMessages(
    name=lambda task: f"{task.run.name} must be trained",
    same="versions as this process; install the same packages on every node",
    start="start",
    unit="trial",
    again="run the command again with fewer --workers",
)


class TrialPool:
    """Workers that train one trial at a time; a context manager. Ray must be initialised.

    A trial whose worker ended continues from its last checkpoint. All nodes need the project and the folder of the
    search at the same path.
    """

    def __init__(self, *, workers: int, processors: int) -> None:
        self.pool: WorkerPool[TrialTask, TrialRecord] = WorkerPool(
            _TrialRunner, _MESSAGES, workers=workers, processors=processors, ahead=1, stall_timeout=math.inf
        )
        try:
            self.pool.check(self.pool.description, installed_versions(*_PACKAGES))
        except ConfigError:
            self.pool.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def __call__(self, tasks: Sequence[TrialTask], on_update: Callable[[int, int], None]) -> Iterator[TrialRecord]:
        """Yield the record of each trial, in the order of the tasks; progress is reported per trial."""
        for _, record in self.pool.run(iter(tasks)):
            yield record


class _TrialRunner:
    def describe(self) -> dict[str, str]:
        return installed_versions(*_PACKAGES)

    def __call__(self, task: TrialTask) -> Any:
        if not task.project.is_dir():
            raise DataError(
                f"{task.project} is missing on a node; all nodes must share the folder of the project at the same path"
            )
        return run_trial(task)
