"""Several models that write together. Paper: [sutskever2014] (section 3.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from dragoman.search.protocol import Floats, Numbers, Prediction, Start, Writing

__all__ = ["together"]


def together(starts: Sequence[Start]) -> Start:
    """Models of any families with the same vocabularies, as one: p(y_t) is the mean of their p(y_t).

    Where they look is the mean of the maps of those that have one.
    """

    def start(sources: Sequence[Sequence[int]], show: bool) -> Writing:
        return _Together(tuple(each(sources, show) for each in starts))

    return start


@dataclass(frozen=True)
class _Together:
    members: tuple[Writing, ...]

    def step(self, tokens: Numbers) -> Prediction:
        predictions = [member.step(tokens) for member in self.members]
        maps = [each.weights for each in predictions if each.weights is not None]
        return Prediction(
            _mean([each.log_probs for each in predictions]),
            sum(maps[1:], start=maps[0]) / np.float32(len(maps)) if maps else None,
            _Together(tuple(each.after for each in predictions)),
        )

    def reorder(self, rows: Numbers) -> Self:
        return type(self)(tuple(member.reorder(rows) for member in self.members))

    def select(self, rows: Numbers) -> Self:
        return type(self)(tuple(member.select(rows) for member in self.members))


def _mean(log_probs: list[Floats]) -> Floats:
    """log of the mean of p. Shapes: each [rows, vocab] -> [rows, vocab]."""
    if len(log_probs) == 1:
        return log_probs[0]
    total: Floats = reduce(np.logaddexp, log_probs)
    return total - np.float32(np.log(len(log_probs)))
