"""Translations in the making: what the rows of a search have written, and where they looked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Numbers
from dragoman.search.top import Scores
from dragoman.text import EOS_ID

__all__ = ["Draft", "Drafts"]


class Draft(NamedTuple):
    """A translation that is done with, and what it is ranked by: its score, and what it was given credit for."""

    rank: float
    hypothesis: Hypothesis


@dataclass(frozen=True)
class _Look:
    """Where the rows looked at one step, as they were then, and which row of the step before each of them was.

    Shapes: weights [rows, src], parents [rows].
    """

    weights: Floats
    parents: Numbers
    before: _Look | None

    def map(self, row: int) -> Floats:
        """All steps up to this one, for the translation that was in this row. Shapes: -> [words, src]."""
        rows: list[Floats] = []
        look: _Look | None = self
        while look is not None:
            rows.append(look.weights[row])
            row, look = int(look.parents[row]), look.before
        return np.stack(rows[::-1])


@dataclass(frozen=True)
class Drafts:
    """What each row has written. `credits` are added to log p where rows are compared.

    Shapes: written [rows, words]; log_probs, credits and places [rows]. `places` are the rows of the last look.
    """

    written: Numbers
    log_probs: Scores
    credits: Scores
    places: Numbers
    look: _Look | None = None

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Before the first word."""
        return cls(np.zeros((rows, 0), np.int64), np.zeros(rows), np.zeros(rows), np.arange(rows))

    @property
    def ranked(self) -> Scores:
        """What rows are compared by. Shapes: [rows]."""
        return self.log_probs + self.credits

    def select(self, rows: Numbers) -> Self:
        """These rows, in any number and order."""
        chosen = {name: getattr(self, name)[rows] for name in ("written", "log_probs", "credits", "places")}
        return replace(self, **chosen)

    def looked(self, weights: Floats | None) -> Self:
        """Add where the rows looked for the word that comes next, before it is chosen. Shapes: [rows, src]."""
        if weights is None:
            return self
        return replace(self, look=_Look(weights, self.places, self.look), places=np.arange(len(weights)))

    def wrote(self, tokens: Numbers, log_probs: Scores, given: Scores | None = None) -> Self:
        """Add a word; `log_probs` and `given`, the credits, are those of all words up to it. Shapes: [rows]."""
        written = np.concatenate([self.written, tokens[:, np.newaxis]], 1)
        return replace(self, written=written, log_probs=log_probs, credits=self.credits if given is None else given)

    def finished(self, row: int, worth: tuple[float, float], src: int, penalties: Penalties) -> Draft:
        """A row that ends here with the end mark, which is not written in it; `src` is the length of its source.

        `worth` is its log p, and its credit.
        """
        return self._draft(row, worth, self.written.shape[1] + 1, src, penalties, is_finished=True)

    def closed(self, row: int, src: int, penalties: Penalties) -> Draft:
        """A row as it stands: it ends with the end mark, or is cut."""
        worth = float(self.log_probs[row]), float(self.credits[row])
        words = self.written.shape[1]
        is_finished = words > 0 and bool(self.written[row, -1] == EOS_ID)
        return self._draft(row, worth, words, src, penalties, is_finished=is_finished)

    def _draft(
        self, row: int, worth: tuple[float, float], length: int, src: int, penalties: Penalties, *, is_finished: bool
    ) -> Draft:
        log_prob, credit = worth
        pieces = self.written[row].tolist()
        if pieces and pieces[-1] == EOS_ID:
            del pieces[-1]
        alignment = covered = None
        if self.look is not None:
            alignment = self.look.map(int(self.places[row]))[:length, : src + 1]
            covered = alignment[:, :src]
        score, rank = (penalties.score(total, max(length, 1), covered) for total in (log_prob, log_prob + credit))
        return Draft(rank, Hypothesis(pieces, log_prob, alignment, score, is_finished))
