"""Ensembles: average the next-token probabilities of several models. Paper: [sutskever2014] (section 3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from dragoman.search.decoding_protocol import DecodingState, Floats, Numbers, StartDecoding, StepOutput


def ensemble_start(starts: Sequence[StartDecoding]) -> StartDecoding:
    """Combine models with the same vocabularies: p(y_t) and attention weights are the means of theirs."""

    def start(sources: Sequence[Sequence[int]], return_attention: bool) -> DecodingState:
        return _EnsembleState(tuple(each(sources, return_attention) for each in starts))

    return start


@dataclass(frozen=True)
class _EnsembleState:
    members: tuple[DecodingState, ...]

    def step(self, tokens: Numbers) -> StepOutput:
        outputs = [member.step(tokens) for member in self.members]
        maps = [each.weights for each in outputs if each.weights is not None]
        return StepOutput(
            _mean([each.log_probs for each in outputs]),
            sum(maps[1:], start=maps[0]) / np.float32(len(maps)) if maps else None,
            _EnsembleState(tuple(each.next_state for each in outputs)),
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
