"""A few real updates, to predict what training will take."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config.schema import Config
from dragoman.data.batch import Batch
from dragoman.environment import peak_memory
from dragoman.models.build import build_model
from dragoman.models.summary import summarize
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step

__all__ = ["Trial", "affordable_tokens", "try_updates"]

_MOST_FLOPS = 2e12  # of one update in a trial: some seconds on two cores
_SECONDS = 8.0
_BUSY = 1.5  # a load average of more than our own process


@dataclass(frozen=True)
class Trial:
    """What a few updates took."""

    parameters: int
    pieces_per_second: float
    is_busy: bool
    """Whether others were at work too: torch's threads then wait for each other, and everything takes far longer."""
    memory_bytes: int
    """Of the whole process, at its highest, with the batches of the trial."""


def affordable_tokens(config: Config) -> int:
    """How many target pieces one update of a trial may have, so that it does not take minutes; at most a full batch."""
    return min(config.training.batch_tokens, max(64, int(_MOST_FLOPS / summarize(config).cost.training_flops)))


def try_updates(config: Config, vocabulary: tuple[int, int], batches: Sequence[Batch]) -> Trial:
    """Train on the batches, in turn, for some seconds; the first update, which warms up, is not counted."""
    model = build_model(config.model, *vocabulary, seed=config.training.seed)
    optimizer = build_optimizer(model, config.training)
    train_step(model, optimizer, batches[0], config.training, 1)
    load = os.getloadavg()[0]
    started, pieces, update = time.perf_counter(), 0, 1
    while pieces == 0 or time.perf_counter() - started < _SECONDS:
        batch = batches[update % len(batches)]
        update += 1
        train_step(model, optimizer, batch, config.training, update)
        pieces += batch.target_tokens
    seconds = time.perf_counter() - started
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Trial(parameters, pieces / seconds, load > _BUSY, peak_memory())
