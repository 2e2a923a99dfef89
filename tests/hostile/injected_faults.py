"""Batches whose loss, gradient or size is bad, in a training that is otherwise real."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
import torch

from dragoman.config import Config
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.training import step
from dragoman.training.step import Objective
from testkit.tiny_project import tiny_project

KINDS = ("nan", "inf", "-inf", "gradient")
SPIKE = "spike"


def poison(patch: pytest.MonkeyPatch, config: Config, bad: Mapping[int, str]) -> None:
    """Make some batches bad, by their number in the stream: bad data stays bad when it is read again."""
    with BatchLoader.from_prepared(PreparedData.open(tiny_project().folder / "prepared"), config) as loader:
        names = {int(batch.rows[0]): number for number, batch in enumerate(islice(loader, 1 + max(bad, default=0)))}
    good = step.objective

    def objective(model: Any, batch: Batch, settings: Any, noise: Any, baseline: Any) -> Objective:
        found = good(model, batch, settings, noise, baseline)
        kind = "" if noise is None else bad.get(names.get(int(batch.rows[0]), -1), "")
        return _spoilt(found, kind) if kind else found

    patch.setattr(step, "objective", objective)


def _spoilt(found: Objective, kind: str) -> Objective:
    if kind == SPIKE:
        return Objective(found.total * 1e4, found.nll * 1e4, found.tokens)
    if kind == "gradient":  # √0 is 0, and its slope is infinite
        return Objective(found.total + torch.sqrt(found.total * 0.0), found.nll, found.tokens)
    return Objective(found.total * float(kind), found.nll * float(kind), found.tokens)


def starve(patch: pytest.MonkeyPatch, most_cells: int) -> None:
    """Raise an out-of-memory error for batches with more cells."""
    good = step.objective

    def objective(model: Any, batch: Batch, settings: Any, noise: Any, baseline: Any) -> Objective:
        if noise is not None and batch.cells > most_cells:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {batch.cells} cells")
        return good(model, batch, settings, noise, baseline)

    patch.setattr(step, "objective", objective)
