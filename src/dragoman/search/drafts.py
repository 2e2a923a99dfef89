"""Translations in the making: what the rows of a search have written, and where they looked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Numbers
from dragoman.search.top import Scores
from dragoman.text import EOS_ID

__all__ = ["Drafts"]


@dataclass(frozen=True)
class Drafts:
    """What each row has written. `credits` are added to log p where rows are compared.

    Shapes: written [rows, words], log_probs, credits [rows]; weights [rows, words, src] where they are shown.
    """

    written: Numbers
    log_probs: Scores
    credits: Scores
    weights: Floats | None = None

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Before the first word."""
        return cls(np.zeros((rows, 0), np.int64), np.zeros(rows), np.zeros(rows))

    @property
    def ranked(self) -> Scores:
        """What rows are compared by. Shapes: [rows]."""
        return self.log_probs + self.credits

    def select(self, rows: Numbers) -> Self:
        """These rows, in any number and order."""
        return replace(
            self,
            written=self.written[rows],
            log_probs=self.log_probs[rows],
            credits=self.credits[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def looked(self, weights: Floats | None) -> Self:
        """Add where the rows looked for the word that comes next, before it is chosen. Shapes: [rows, src]."""
        if weights is None:
            return self
        before = self.weights
        if before is None:
            before = np.zeros((len(weights), 0, weights.shape[1]), np.float32)
        return replace(self, weights=np.concatenate([before, weights[:, np.newaxis]], 1))

    def wrote(self, tokens: Numbers, log_probs: Scores, given: Scores | None = None) -> Self:
        """Add a word; `log_probs` and `given`, the credits, are those of all words up to it. Shapes: [rows]."""
        written = np.concatenate([self.written, tokens[:, np.newaxis]], 1)
        return replace(self, written=written, log_probs=log_probs, credits=self.credits if given is None else given)

    def finished(self, row: int, worth: tuple[float, float], src: int, penalties: Penalties) -> Hypothesis:
        """A row that ends here with the end mark, which is not written in it; `src` is the length of its source.

        `worth` is its log p, and its credit.
        """
        return self._hypothesis(row, worth, self.written.shape[1] + 1, src, penalties, is_finished=True)

    def closed(self, row: int, src: int, penalties: Penalties) -> Hypothesis:
        """A row as it stands: it ends with the end mark, or is cut."""
        worth = float(self.log_probs[row]), float(self.credits[row])
        is_finished = bool(self.written[row, -1] == EOS_ID)
        return self._hypothesis(row, worth, self.written.shape[1], src, penalties, is_finished=is_finished)

    def _hypothesis(
        self, row: int, worth: tuple[float, float], length: int, src: int, penalties: Penalties, *, is_finished: bool
    ) -> Hypothesis:
        log_prob, credit = worth
        pieces = self.written[row].tolist()
        if pieces and pieces[-1] == EOS_ID:
            del pieces[-1]
        alignment = None if self.weights is None else self.weights[row, :length, : src + 1].copy()
        covered = None if alignment is None else alignment[:, :src]
        score = penalties.score(log_prob + credit, length, covered)
        return Hypothesis(pieces, log_prob, alignment, score, is_finished)
