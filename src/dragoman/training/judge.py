"""Who looks at the validation set, with which weights, and what the best look so far was."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dragoman.config.training import TrainingConfig
from dragoman.models.protocol import Model
from dragoman.stopping import Stopped
from dragoman.training.average import MovingAverage
from dragoman.training.progress import Observer, Scored, Validated
from dragoman.training.tensors import load_weights, weights_of, whole_tensors
from dragoman.training.validation import Best, Validation, better
from dragoman.training.world import World

__all__ = ["Judge"]


class Judge:
    """Validates on the first process; all of them learn what it found.

    Moving averages, and weights that are divided among processes, are put into a model of their own for that. It is
    copied from the model before its weights are divided, so a judge is made first.
    """

    def __init__(
        self, model: Model[Any, Any], validation: Validation, config: TrainingConfig, world: World, observer: Observer
    ) -> None:
        self._is_sharded = config.sharded and world.size > 1
        apart = (config.ema_decay or self._is_sharded) and world.is_first
        self._stand_in = copy.deepcopy(model) if apart else None
        self._model = model
        self._validation = validation
        self._config = config
        self._world = world
        self._observer = observer

    def look(
        self, update: int, best: Best | None, average: MovingAverage | None, check: Callable[[], None]
    ) -> Best | None:
        """The best validation with this one counted in; None where `check` says that there is no time for one."""
        self._fill(average)
        said, scored, seconds = None, Scored(), 0.0
        if self._world.is_first:
            self._observer.validating(update)
            began = time.monotonic()
            try:
                loss, scored = self._validation.look(self._stand_in or self._model, check)
                said = {"loss": loss, **scored.scores}
            except Stopped:
                pass
            seconds = time.monotonic() - began
        said = self._world.first_says(said)
        if said is None:
            return None
        value = said[self._config.stop_on]
        is_best = best is None or math.isnan(best.value) or better(self._config.stop_on, value, best.value)
        best = Best(update, value) if best is None or is_best else replace(best, since=best.since + 1)
        if self._world.is_first:
            self._observer.validated(
                Validated(update, said["loss"], scored, is_best, best.update, best.value, self._config.stop_on, seconds)
            )
        return best

    def _fill(self, average: MovingAverage | None) -> None:
        """Bring the stand-in up to date; dividing processes gather together."""
        first = self._world.is_first
        if average is not None:
            weights = whole_tensors(average.named(), keep=first)
        elif self._is_sharded:
            weights = weights_of(self._model, keep=first)
        else:
            return
        if self._stand_in is not None:
            load_weights(self._stand_in, weights)
