"""Protocol of search and model: decoding by steps, in numpy arrays, so that it runs on any engine (record 0012)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


class DecodingState(Protocol):
    """The state of a model while it decodes, one row per hypothesis. Immutable: each method returns a new state."""

    def step(self, tokens: Numbers) -> StepOutput:
        """Decode one step after `tokens`, the last token of each row (first: the begin token). Shapes: [rows]."""

    def reorder(self, rows: Numbers) -> Self:
        """Row n continues row rows[n] of the same sentence, so the source memory is unchanged."""

    def select(self, rows: Numbers) -> Self:
        """Select rows, in any number and order, with their source memory."""


@dataclass(frozen=True)
class StepOutput:
    """The result of a step. The search may change the arrays.

    Shapes: log_probs [rows, vocab]; weights [rows, src], the attention weights, if requested and available: one column
    per source position including the end, zeros after it.
    """

    log_probs: Floats
    weights: Floats | None
    next_state: DecodingState


StartDecoding = Callable[[Sequence[Sequence[int]], bool], DecodingState]
"""Start decoding of sources (token ids without specials), one row each; the second argument requests attention."""


class SearchMonitor(Protocol):
    """Observes and cancels a running search; called between steps."""

    def is_cancelled(self, sentence: int) -> bool:
        """Whether to cancel this sentence: it leaves the batch without a result."""

    def is_streamed(self, sentence: int) -> bool:
        """Whether `on_tokens` is needed for this sentence; it takes time at every step."""

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Called with the tokens of a translation that are final; each call extends the previous one."""


@dataclass(frozen=True)
class MappedMonitor:
    """Monitor of a search whose tokens are not those of `monitor`: `convert` returns these, given the sentence."""

    monitor: SearchMonitor
    convert: Callable[[int, list[int]], list[int]]

    def is_cancelled(self, sentence: int) -> bool:
        return self.monitor.is_cancelled(sentence)

    def is_streamed(self, sentence: int) -> bool:
        return self.monitor.is_streamed(sentence)

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        if converted := self.convert(sentence, tokens):
            self.monitor.on_tokens(sentence, converted)
