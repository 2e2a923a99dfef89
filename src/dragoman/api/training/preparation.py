"""Prepare or check training corpora, and estimate the time and memory of a training from a few real updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.config import Config
from dragoman.data.batch_plan import BatchPlan, CorpusRows
from dragoman.data.check.advice import find_headers, find_misuse
from dragoman.data.check.check import PairSample, check, measure_corpora
from dragoman.data.check.report_types import BatchStatistics, CheckReport, TrainingCost
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.token_pairs import Pairs
from dragoman.data.worker_processes import Workers, run_in_child
from dragoman.environment import is_installed
from dragoman.progress import NoProgress, Progress

if TYPE_CHECKING:
    from dragoman.training.dry_run import DryRun

_BATCHES = 4


@dataclass(frozen=True)
class _Task:
    config: Config
    vocabulary: tuple[int, int]
    batches: list[Pairs]


def estimate_cost(config: Config, sample: PairSample, batches: BatchStatistics) -> TrainingCost:
    """Estimate time and memory from a few updates on real pairs, in a separate process so that its memory is known.

    The batches of a large model are smaller than in training; the memory of the missing tokens is added.
    """
    from dragoman.models.build import model_cost  # noqa: PLC0415 -- needs torch, which checking does not
    from dragoman.training.dry_run import dry_run_tokens  # noqa: PLC0415

    lengths = sample.lengths
    tokens = max(dry_run_tokens(config), int(lengths.max()) + 1)
    missing = max(0, config.training.batch_tokens - tokens) * model_cost(config).training_bytes
    plan = BatchPlan(
        [CorpusRows("sample", 0, len(lengths))],
        lambda rows: lengths[rows],
        seed=config.training.seed,
        batch_tokens=tokens,
    )
    pairs = [sample.gather(batch.rows) for batch in islice(plan.batches(), _BATCHES)]
    vocabulary = (sample.tokenizers["source"].size, sample.tokenizers["target"].size)
    dry_run = run_in_child(_measure, _Task(config, vocabulary, pairs))
    updates = config.training.max_updates
    total_tokens = updates * batches.target_tokens / max(1, batches.batches)
    return TrainingCost(
        parameters=dry_run.parameters,
        memory_bytes=dry_run.memory_bytes + missing,
        tokens_per_second=dry_run.tokens_per_second,
        updates=updates,
        epochs=updates / max(1, batches.batches),
        seconds=total_tokens / dry_run.tokens_per_second,
        is_busy=dry_run.is_busy,
    )


def _measure(task: _Task) -> DryRun:
    import torch  # noqa: PLC0415 -- as above

    from dragoman.data.batch import Batch  # noqa: PLC0415
    from dragoman.training.dry_run import measure_updates, measured_precision  # noqa: PLC0415

    batches = [Batch.from_flat(pairs, np.arange(len(pairs))) for pairs in task.batches]
    config = measured_precision(task.config, task.vocabulary, torch.device("cpu"))
    return measure_updates(config, task.vocabulary, batches)


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
    """Check corpora: all errors, dropped pairs, and with `measure` and torch the cost of training by a few updates."""
    progress = progress or NoProgress()

    def estimate(config: Config, sample: PairSample, batches: BatchStatistics) -> TrainingCost:
        progress.begin("running a few updates")
        return estimate_cost(config, sample, batches)

    with Preparation(config, folder, workers=Workers(processes), progress=progress, tolerant=True) as preparation:
        return check(preparation, estimate if measure and is_installed("torch") else None)
