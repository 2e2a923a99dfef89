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
    """Shapes: written [rows, words], log_probs [rows]; weights [rows, words, src] where they are shown."""

    written: Numbers
    log_probs: Scores
    weights: Floats | None = None

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Before the first word."""
        return cls(np.zeros((rows, 0), np.int64), np.zeros(rows))

    def select(self, rows: Numbers) -> Self:
        """These rows, in any number and order."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, written=self.written[rows], log_probs=self.log_probs[rows], weights=weights)

    def looked(self, weights: Floats | None) -> Self:
        """Add where the rows looked for the word that comes next, before it is chosen. Shapes: [rows, src]."""
        if weights is None:
            return self
        before = self.weights
        if before is None:
            before = np.zeros((len(weights), 0, weights.shape[1]), np.float32)
        return replace(self, weights=np.concatenate([before, weights[:, np.newaxis]], 1))

    def wrote(self, tokens: Numbers, log_probs: Scores) -> Self:
        """Add a word; `log_probs` are those of all words up to it. Shapes: [rows]."""
        return replace(self, written=np.concatenate([self.written, tokens[:, np.newaxis]], 1), log_probs=log_probs)

    def finished(self, row: int, log_prob: float, src: int, penalties: Penalties) -> Hypothesis:
        """A row that ends here with the end mark, which is not written in it; `src` is the length of its source."""
        return self._hypothesis(row, log_prob, src, penalties, length=self.written.shape[1] + 1, is_finished=True)

    def closed(self, row: int, src: int, penalties: Penalties) -> Hypothesis:
        """A row as it stands: it ends with the end mark, or is cut."""
        ended = self.written[row, -1] == EOS_ID
        log_prob, length = float(self.log_probs[row]), self.written.shape[1]
        return self._hypothesis(row, log_prob, src, penalties, length=length, is_finished=bool(ended))

    def _hypothesis(
        self, row: int, log_prob: float, src: int, penalties: Penalties, *, length: int, is_finished: bool
    ) -> Hypothesis:
        pieces = self.written[row].tolist()
        if pieces and pieces[-1] == EOS_ID:
            del pieces[-1]
        alignment = None if self.weights is None else self.weights[row, :length, : src + 1].copy()
        covered = None if alignment is None else alignment[:, :src]
        return Hypothesis(pieces, log_prob, alignment, penalties.score(log_prob, length, covered), is_finished)
