"""Looking at the validation set: its loss here, its translations by whoever is handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

import torch

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.protocol import Model
from dragoman.training.losses import Baseline
from dragoman.training.progress import Scored
from dragoman.training.step import Task

__all__ = ["Best", "Scorer", "Validation", "better"]


class Scorer(Protocol):
    """Translates the validation set and scores it; `check` is to be called now and then, and may raise."""

    def __call__(self, model: Model[Any, Any], check: Callable[[], None]) -> Scored:
        """Scores by name, and samples."""


@dataclass(frozen=True)
class Best:
    """The best validation so far, by the metric that decides; and how many came after it."""

    update: int
    value: float
    since: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """From `to_json`."""
        return cls(**value)


def better(metric: str, value: float, than: float) -> bool:
    """Whether a value of a metric is better: less of a loss, more of a score. What is not a number is never better."""
    return value < than if metric == "loss" else value > than


class Validation:
    """The validation set: a few batches that are held in memory, and a scorer."""

    def __init__(self, batches: Sequence[Batch], config: TrainingConfig, scorer: Scorer | None) -> None:
        self._batches = batches
        self._config = config
        self._scorer = scorer

    def look(self, model: Model[Any, Any], check: Callable[[], None]) -> tuple[float, Scored]:
        """The mean of −log p(y_t), and what the scorer says. `check` may raise to leave early."""
        device = next(model.parameters()).device
        task = Task(model, self._config)
        nll, tokens = 0.0, 0
        with torch.no_grad():
            for batch in self._batches:
                check()
                nll += float(task(batch.to(device), None, Baseline(0.0))[1])
                tokens += batch.target_tokens
        scored = Scored() if self._scorer is None else self._scorer(model, check)
        return nll / tokens, scored
