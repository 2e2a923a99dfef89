"""Prepare or check the training corpora that a configuration names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.api.training.cost_estimate import estimate_cost
from dragoman.config import Config
from dragoman.data.check.advice import find_headers, find_misuse
from dragoman.data.check.check import check
from dragoman.data.check.measure import PairSample, measure_corpora
from dragoman.data.check.report_types import BatchStatistics, CheckReport, TrainingCost
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.worker_processes import Workers
from dragoman.environment import is_installed
from dragoman.progress import NoProgress, Progress

__all__ = ["check_corpora", "prepare_corpora"]


def prepare_corpora(
    config: Config,
    folder: Path,
    *,
    processes: int = 1,
    workers: Workers | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> PreparedData:
    """Clean, deduplicate and split the corpora of a configuration, train the tokenizer, and write shards.

    Relative paths in the configuration start from `folder`. Run again, it repeats only the stages whose input changed.
    `workers` replaces the processes of this machine, for instance by those of a cluster. `tell` receives warnings of
    whole corpora before the tokenizer is trained: sides that are swapped, in another language or not text, and headers.
    """
    workers = workers or Workers(processes)
    with Preparation(config, folder, workers=workers, progress=progress or NoProgress()) as preparation:
        if tell is not None:
            corpora = measure_corpora(preparation)
            for warning in [*find_misuse(corpora), *find_headers(corpora)]:
                tell(warning)
        return preparation.write()


def check_corpora(
    config: Config, folder: Path, *, processes: int = 1, progress: Progress | None = None, measure: bool = True
) -> CheckReport:
    """Check the corpora of a configuration: all errors, the pairs that cleaning drops, and the cost of training.

    With `measure`, and torch installed, a few updates are run to estimate memory and time.
    """
    progress = progress or NoProgress()

    def estimate(config: Config, sample: PairSample, batches: BatchStatistics) -> TrainingCost:
        progress.begin("running a few updates")
        return estimate_cost(config, sample, batches)

    with Preparation(config, folder, workers=Workers(processes), progress=progress, tolerant=True) as preparation:
        return check(preparation, estimate if measure and is_installed("torch") else None)
