"""From files to prepared data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.config import Config
from dragoman.data.check.check import check
from dragoman.data.check.look import Sample
from dragoman.data.check.report import Batches, Cost, Report
from dragoman.data.pairs import Pairs
from dragoman.data.preparation.manifest import Prepared
from dragoman.data.preparation.prepare import Preparation
from dragoman.data.progress import Progress, Silent
from dragoman.data.sampling import CorpusRows, Plan
from dragoman.data.workers import in_child
from dragoman.environment import is_installed

if TYPE_CHECKING:
    from dragoman.training.trial import Trial

__all__ = ["check_corpora", "prepare_corpora"]

_TRIAL_BATCHES = 4


def prepare_corpora(config: Config, folder: Path, *, processes: int = 1, progress: Progress | None = None) -> Prepared:
    """Clean, de-duplicate and split the corpora of a configuration, learn the tokenizer and write shards.

    Relative paths in the configuration start at `folder`. Running it again does only what changed. A script that asks
    for several processes must do so under ``if __name__ == "__main__":``, since each of them imports it.
    """
    with Preparation(config, folder, processes=processes, progress=progress or Silent()) as preparation:
        return preparation.write()


def check_corpora(
    config: Config, folder: Path, *, processes: int = 1, progress: Progress | None = None, measure: bool = True
) -> Report:
    """Look at the corpora of a configuration: all faults, what cleaning drops, and what training would cost.

    With `measure`, and torch installed, a few real updates are made to predict memory and time.
    """
    progress = progress or Silent()

    def predict(config: Config, sample: Sample, batches: Batches) -> Cost:
        progress.begin("trying a few updates")
        return _predict(config, sample, batches)

    with Preparation(config, folder, processes=processes, progress=progress, tolerant=True) as preparation:
        return check(preparation, predict if measure and is_installed("torch") else None)


@dataclass(frozen=True)
class _TrialTask:
    config: Config
    vocabulary: tuple[int, int]
    batches: list[Pairs]


def _predict(config: Config, sample: Sample, batches: Batches) -> Cost:
    """What training takes, from a few updates on real pairs, in a process of their own so that its memory is theirs.

    Of a large model the batches of the trial are smaller; what each further piece keeps for the backward pass is added.
    """
    from dragoman.models.summary import summarize  # noqa: PLC0415 -- needs torch, which preparing does not
    from dragoman.training.trial import affordable_tokens  # noqa: PLC0415

    lengths = sample.lengths
    tokens = max(affordable_tokens(config), int(lengths.max()) + 1)
    missing = max(0, config.training.batch_tokens - tokens) * summarize(config).cost.training_bytes
    plan = Plan(
        [CorpusRows("sample", 0, len(lengths))],
        lambda rows: lengths[rows],
        seed=config.training.seed,
        batch_tokens=tokens,
    )
    pairs = [sample.gather(batch.rows) for batch in islice(plan.batches(), _TRIAL_BATCHES)]
    vocabulary = (sample.tokenizers["source"].size, sample.tokenizers["target"].size)
    trial = in_child(_try, _TrialTask(config, vocabulary, pairs))
    updates = config.training.max_updates
    pieces = updates * batches.target_pieces / max(1, batches.batches)
    return Cost(
        parameters=trial.parameters,
        memory_bytes=trial.memory_bytes + missing,
        pieces_per_second=trial.pieces_per_second,
        updates=updates,
        epochs=updates / max(1, batches.batches),
        seconds=pieces / trial.pieces_per_second,
        is_busy=trial.is_busy,
    )


def _try(task: _TrialTask) -> Trial:
    from dragoman.data.batch import Batch  # noqa: PLC0415 -- as above
    from dragoman.training.trial import try_updates  # noqa: PLC0415

    batches = [Batch.of_flat(pairs, np.arange(len(pairs))) for pairs in task.batches]
    return try_updates(task.config, task.vocabulary, batches)
