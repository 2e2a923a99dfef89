"""What a search is asked for, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hypothesis", "Sentence"]


@dataclass(frozen=True)
class Sentence:
    """One source, as piece numbers without specials, and what its translation must look like.

    A translation begins with `prefix`, and holds every one of `phrases` somewhere behind it. `phrase_sources` says for
    each phrase which places of the source it translates (nothing, where it is not known). `may_follow` [vocab] marks
    the pieces that may stand right behind a phrase, so that a required word is not continued to a longer one. `number`
    tells a sentence from others where translations are drawn at random: it makes the draw the sentence's own, whatever
    its company.
    """

    pieces: Sequence[int]
    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = ()
    phrase_sources: Sequence[Sequence[int]] = ()
    may_follow: NDArray[np.bool_] | None = None
    number: int = 0

    @property
    def least(self) -> int:
        """The fewest pieces in which its translation can hold the prefix, and all phrases and its end behind it."""
        return len(self.prefix) + (sum(map(len, self.phrases)) + 1 if self.phrases else 0)


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its pieces without specials, and log p of all that was written, its end among it.

    `score` is what a search ranks by: log p under the length and coverage penalties (where phrases are required, where
    they stand counts too, and is not in it). `is_finished` tells whether its
    end was written; without, the most pieces there may be came first.

    Shapes: alignment [tgt, src]: one map, where there was one to show and it was asked for. Its last row is that of
    the end of the translation, unless it is not finished; its last column is the end of the source.
    """

    pieces: list[int]
    log_prob: float
    alignment: NDArray[np.float32] | None = None
    score: float = 0.0
    is_finished: bool = True
