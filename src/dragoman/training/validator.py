"""Run validation and track the best score."""

import copy
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, Self

import torch
from torch.nn.utils import parametrize

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.stop_signal import StopRequested
from dragoman.training.callbacks.events import TrainerCallback, ValidationEvent, ValidationScores
from dragoman.training.checkpoint import gather_tensors, gather_weights, load_weights
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.optimizer import MovingAverage
from dragoman.training.step import LossModule


class Scorer(Protocol):
    """Translates the validation set and scores the result."""

    def __call__(self, model: Model[Any, Any], check: Callable[[], None]) -> ValidationScores:
        """Scores and samples. Call `check` regularly: it raises to cancel the work."""


@dataclass(frozen=True)
class BestScore:
    """The best validation so far by the stopping metric, and the number of validations since."""

    update: int
    value: float
    validations_since: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**value)


def is_better(metric: str, value: float, than: float) -> bool:
    """Whether a value of a metric is better: lower for a loss, higher for a score. NaN is never better."""
    return value < than if metric == "loss" else value > than


class ValidationSet:
    """The batches of the validation set, held in memory, and an optional scorer."""

    def __init__(self, batches: Sequence[Batch], config: TrainingConfig, scorer: Scorer | None) -> None:
        self._batches = batches
        self._config = config
        self._scorer = scorer

    def evaluate(self, model: Model[Any, Any], check: Callable[[], None]) -> tuple[float, ValidationScores]:
        """The mean of −log p(y_t), and the result of the scorer. `check` may raise to cancel."""
        device = next(model.parameters()).device
        loss_module = LossModule(model, self._config)
        nll, tokens = 0.0, 0
        with torch.no_grad(), parametrize.cached():  # adapted weights are computed once
            for batch in self._batches:
                check()
                nll += float(loss_module(batch.to(device), None)[1])
                tokens += batch.target_tokens
            scores = ValidationScores() if self._scorer is None else self._scorer(model, check)
        return nll / tokens, scores


class DirectionValidationSets:
    """The validation sets of several directions, by name: loss and scores are the means over them."""

    def __init__(self, sets: Mapping[str, ValidationSet]) -> None:
        self._sets = dict(sets)

    def evaluate(self, model: Model[Any, Any], check: Callable[[], None]) -> tuple[float, ValidationScores]:
        """The mean loss and scores of all directions, and those of each. `check` may raise to cancel."""
        found = {name: each.evaluate(model, check) for name, each in self._sets.items()}
        losses = [loss for loss, _ in found.values()]
        scored = [scores for _, scores in found.values()]
        common = [name for name in scored[0].scores if all(name in each.scores for each in scored)]
        means = {name: statistics.fmean(each.scores[name] for each in scored) for name in common}
        directions = {name: {"loss": loss, **scores.scores} for name, (loss, scores) in found.items()}
        samples = tuple(each.samples[0] for each in scored if each.samples)
        return statistics.fmean(losses), ValidationScores(means, scored[0].signatures, samples, directions)


class Validator:
    """Validates on the main process and sends the result to all.

    Averaged weights and sharded weights are loaded into a copy of the model. The copy is made here, so create the
    validator before the model is sharded.
    """

    def __init__(
        self,
        model: Model[Any, Any],
        validation: ValidationSet | DirectionValidationSets,
        config: TrainingConfig,
        group: ProcessGroup,
        callback: TrainerCallback,
    ) -> None:
        self._is_sharded = config.sharded and group.size > 1
        needs_copy = (config.ema_decay or self._is_sharded) and group.is_main
        self._copy = copy.deepcopy(model) if needs_copy else None
        self._model = model
        self._validation = validation
        self._config = config
        self._group = group
        self._callback = callback

    def validate(
        self, update: int, best: BestScore | None, average: MovingAverage | None, check: Callable[[], None]
    ) -> BestScore | None:
        """The best score including this validation; None if `check` cancelled it."""
        self._load_copy(average)
        values, scores, seconds = None, ValidationScores(), 0.0
        if self._group.is_main:
            self._callback.on_validation_start(update)
            start = time.monotonic()
            try:
                loss, scores = self._validation.evaluate(self._copy or self._model, check)
                values = {"loss": loss, **scores.scores}
            except StopRequested:
                pass
            seconds = time.monotonic() - start
        values = self._group.broadcast(values)
        if values is None:
            return None
        metric = self._config.stop_on
        value = values[metric]
        is_best = best is None or math.isnan(best.value) or is_better(metric, value, best.value)
        if best is None or is_best:
            best = BestScore(update, value)
        else:
            best = replace(best, validations_since=best.validations_since + 1)
        if self._group.is_main:
            self._callback.on_validation_end(
                ValidationEvent(update, values["loss"], scores, is_best, best.update, best.value, metric, seconds)
            )
        return best

    def _load_copy(self, average: MovingAverage | None) -> None:
        """Load the current weights into the copy. All ranks must call this: sharded weights are gathered."""
        keep = self._group.is_main
        if average is not None:
            weights = gather_tensors(average.named(), keep=keep)
        elif self._is_sharded:
            weights = gather_weights(self._model, keep=keep)
        else:
            return
        if self._copy is not None:
            load_weights(self._copy, weights)
