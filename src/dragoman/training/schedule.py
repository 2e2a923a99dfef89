"""Learning-rate schedule as a function of the update number; it has no state to save."""

from __future__ import annotations

import math

from dragoman.config.training import TrainingConfig


def learning_rate(config: TrainingConfig, update: int) -> float:
    """The rate of update number `update`, counted from 1.

    A linear rise over `warmup_updates`, then: constant; inverse-sqrt, peak · √(warmup / update) [vaswani2017] (3);
    halving, as [sutskever2014] (section 3.4) and [luong2015] (section 4.1) do by epochs; or a cosine down to zero at
    `max_updates`.
    """
    warmup = config.warmup_updates
    if update < warmup:
        return config.learning_rate * update / warmup
    return config.learning_rate * _factor(config, update)


def _factor(config: TrainingConfig, update: int) -> float:
    if config.schedule == "inverse-sqrt":
        return math.sqrt(max(1, config.warmup_updates) / update)
    if config.schedule == "halving":
        halvings = 0 if update < config.halve_from else 1 + (update - config.halve_from) // config.halve_every
        return float(0.5**halvings)
    if config.schedule == "cosine":
        span = max(1, config.max_updates - config.warmup_updates)
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (update - config.warmup_updates) / span)))
    return 1.0
