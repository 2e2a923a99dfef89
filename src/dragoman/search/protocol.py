"""What a search knows about a model: it starts on some sources, and then writes on, word by word, many rows at once.

Arrays are numpy's, so that a search runs on any engine, also where torch is not installed (docs/decisions/0012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Numbers", "Prediction", "Start", "Watch", "Writing"]

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


class Writing(Protocol):
    """Translations in the making, one a row. A value: each call gives a new one, and leaves the old as it was."""

    def step(self, tokens: Numbers) -> Prediction:
        """One word further, after `tokens`, the last word of each row (the begin mark at first). Shapes: [rows]."""

    def reorder(self, rows: Numbers) -> Self:
        """Row n goes on from row rows[n], which writes the same sentence: what is kept of the source stays in place."""

    def select(self, rows: Numbers) -> Self:
        """These rows, in any number and order, with what is kept of their sources."""


@dataclass(frozen=True)
class Prediction:
    """What comes next. The search may change the arrays.

    Shapes: log_probs [rows, vocab]; weights [rows, src], where the step looked, if asked for and there is such a map:
    a column a source position, the end of the source among them, and beyond it zeros.
    """

    log_probs: Floats
    weights: Floats | None
    after: Writing


Start = Callable[[Sequence[Sequence[int]], bool], Writing]
"""Begin on sources, one row each (piece numbers without specials); the second argument asks for weights."""


class Watch(Protocol):
    """Looks on while sentences are translated: called between two steps."""

    def is_cancelled(self, sentence: int) -> bool:
        """Whether nobody waits for this sentence any more: it then leaves the batch, with nothing found."""

    def is_told(self, sentence: int) -> bool:
        """Whether anybody wants to know what is written of this sentence: to find that out takes time at every step."""

    def wrote(self, sentence: int, pieces: list[int]) -> None:
        """The pieces of a translation that are certain so far; each call has those of the call before, and more."""
