"""Which candidates of a beam end, and which go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from dragoman.search.protocol import Floats, Numbers
from dragoman.search.settings import SearchSettings
from dragoman.search.top import Candidates, Scores, top_candidates
from dragoman.text import EOS_ID

__all__ = ["Choice", "Chooser", "DiverseChooser", "PlainChooser", "split"]


@dataclass(frozen=True)
class Choice:
    """A step of a beam.

    Translations that end: each [ended], their sentence (a place in the batch), the row of the beam they come from and
    their log p. Rows that go on: each [sentences, width]; a row that has nowhere to go has the log p −∞. Where a
    chooser gives credit, `log_probs` hold it, and `credits` say how much it is.
    """

    ended: Numbers
    ended_parents: Numbers
    ended_log_probs: Scores
    parents: Numbers
    tokens: Numbers
    log_probs: Scores
    ended_credits: Scores | None = None
    credits: Scores | None = None


class Chooser(Protocol):
    """How a beam is filled again after each step. A value."""

    @property
    def width(self) -> int:
        """How many rows a sentence has."""

    @property
    def looks(self) -> bool:
        """Whether it wants to know where rows look."""

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> Choice:
        """`running` are the log p of rows, with their credits.

        Shapes: log_probs [sentences, rows, vocab], running [sentences, rows], weights [sentences, rows, src]; rows is 1
        at the first step.
        """

    def advance(self, choice: Choice) -> Self:
        """After a step."""

    def select(self, sentences: Numbers) -> Self:
        """These sentences only: places in the batch."""


def split(candidates: Candidates, width: int) -> Choice:
    """Of the first `width` candidates those with the end mark end; the first `width` others go on."""
    is_end = candidates.tokens == EOS_ID
    is_dead = np.isneginf(candidates.log_probs)
    ended, rank = np.nonzero((is_end & ~is_dead)[:, :width])
    order = np.argsort(is_end | is_dead, axis=1, kind="stable")[:, :width]
    others = candidates.taken(order)
    parents, tokens = others.parents, others.tokens
    log_probs = np.where(tokens == EOS_ID, -np.inf, others.log_probs)
    short = width - parents.shape[1]
    if short > 0:  # fewer words than rows
        parents, tokens = (np.pad(each, ((0, 0), (0, short))) for each in (parents, tokens))
        log_probs = np.pad(log_probs, ((0, 0), (0, short)), constant_values=-np.inf)
    return Choice(ended, candidates.parents[ended, rank], candidates.log_probs[ended, rank], parents, tokens, log_probs)


@dataclass(frozen=True)
class PlainChooser:
    """Beam search: the likeliest of all continuations of all rows."""

    width: int
    looks = False

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> Choice:
        return split(top_candidates(log_probs, running, 2 * self.width), self.width)

    def advance(self, choice: Choice) -> Self:
        return self

    def select(self, sentences: Numbers) -> Self:
        return self


@dataclass(frozen=True)
class DiverseChooser:
    """Diverse beam search: groups choose in turn, and a word costs `diversity` for each row of an earlier group that
    has just written it. Paper: [vijayakumar2016] (section 3, with the Hamming diversity of its section 5).
    """

    width: int
    groups: int
    diversity: float
    looks = False

    @classmethod
    def of(cls, settings: SearchSettings) -> Self:
        return cls(settings.beam, settings.groups, settings.diversity)

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> Choice:
        size = self.width // self.groups
        choices: list[Choice] = []
        cost = np.zeros((len(log_probs), 1, log_probs.shape[2]), np.float32)
        for group in range(self.groups):
            first = 0 if running.shape[1] == 1 else group * size
            rows = slice(first, first + size)
            choice = self._choose(log_probs[:, rows], running[:, rows], cost, size, first)
            alive = np.isfinite(choice.log_probs)
            sentences, _ = np.nonzero(alive)
            np.add.at(cost[:, 0], (sentences, choice.tokens[alive]), np.float32(self.diversity))
            np.add.at(cost[:, 0, EOS_ID], choice.ended, np.float32(self.diversity))
            choices.append(choice)
        return _beside(choices)

    def _choose(self, log_probs: Floats, running: Scores, cost: Floats, size: int, first: int) -> Choice:
        """What one group chooses, by its own log p less the cost, which is not kept."""
        choice = split(top_candidates(log_probs - cost, running, 2 * size), size)
        places = np.arange(len(log_probs))[:, np.newaxis]
        return Choice(
            choice.ended,
            choice.ended_parents + first,
            choice.ended_log_probs + cost[choice.ended, 0, EOS_ID],
            choice.parents + first,
            choice.tokens,
            choice.log_probs + cost[places, 0, choice.tokens],
        )

    def advance(self, choice: Choice) -> Self:
        return self

    def select(self, sentences: Numbers) -> Self:
        return self


def _beside(choices: list[Choice]) -> Choice:
    """The choices of groups as one."""
    return Choice(
        *(np.concatenate([getattr(each, name) for each in choices]) for name in _ENDED),
        *(np.concatenate([getattr(each, name) for each in choices], 1) for name in _GOING_ON),
    )


_ENDED = ("ended", "ended_parents", "ended_log_probs")
_GOING_ON = ("parents", "tokens", "log_probs")
