"""Successive halving: train all trials for a few updates, and the best of them for longer, rung by rung.

The rungs are synchronous: a rung begins when the one before is complete. The chosen trials therefore depend on the
scores alone, not on the number of workers or on which of them was faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.errors import ConfigError

__all__ = ["Rung", "best_trials", "plan_rungs"]

_DEFAULT_RUNGS = 3


@dataclass(frozen=True)
class Rung:
    """A number of trials, each trained up to a number of updates in all."""

    trials: int
    updates: int


def plan_rungs(trials: int, *, factor: int, first: int | None, last: int, every: int) -> list[Rung]:
    """Return the rungs from `first` to `last` updates; those before the last are multiples of `every`.

    Each has at most one of `factor` of the trials of the rung before, at least one.
    """
    if last < every:
        raise ConfigError(
            f"training.validate_every must be at most training.max_updates = {last}, got {every}; trials are compared "
            "by their validations"
        )
    updates = first or max(1, last // factor ** (_DEFAULT_RUNGS - 1))
    if updates > last:
        raise ConfigError(f"min_updates must be at most training.max_updates = {last}, got {updates}; use fewer")
    rungs = []
    updates = _round_up(updates, every)
    while updates < last and trials > 1:
        rungs.append(Rung(trials, updates))
        updates, trials = _round_up(updates * factor, every), max(1, trials // factor)
    return [*rungs, Rung(trials, last)]


def best_trials(scores: Mapping[int, float | None], count: int, *, lower_is_better: bool) -> list[int]:
    """Return the numbers of the best trials, the best first; trials without a score are never among them."""
    sign = 1 if lower_is_better else -1
    known = [(sign * score, number) for number, score in scores.items() if score is not None]
    return [number for _, number in sorted(known)[:count]]


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
