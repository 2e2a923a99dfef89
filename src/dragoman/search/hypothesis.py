"""Data classes of search: its input (a source sentence with constraints) and its result (a hypothesis)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SearchInput:
    """One source sentence (token ids without specials) and the constraints on its translation.

    A translation begins with `prefix` and contains each of `phrases` after it. `phrase_sources` gives the source
    positions that each phrase translates, if known. `may_follow` [vocab] marks the tokens that may follow a phrase, so
    that a required word is not extended to a longer one. `number` identifies the sentence for sampling: its samples do
    not depend on the other sentences of the batch.
    """

    tokens: Sequence[int]
    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = ()
    phrase_sources: Sequence[Sequence[int]] = ()
    may_follow: NDArray[np.bool_] | None = None
    number: int = 0

    @property
    def min_length(self) -> int:
        """Minimum length of the translation: prefix, phrases and end."""
        return len(self.prefix) + (sum(map(len, self.phrases)) + 1 if self.phrases else 0)


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without specials, and its log p including the end.

    A search ranks by `score`: log p with length and coverage penalties (with required phrases, also by a credit for
    their position, which `score` does not include). `is_finished` is False if the length limit came before the end.

    Shapes: alignment [tgt, src], if requested and available. The last row belongs to the end of a finished
    translation, the last column to the end of the source.
    """

    tokens: list[int]
    log_prob: float
    alignment: NDArray[np.float32] | None = None
    score: float = 0.0
    is_finished: bool = True
