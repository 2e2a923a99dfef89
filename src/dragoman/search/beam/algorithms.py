"""Beam algorithms, standard and diverse: choose by top-k the hypotheses that end and those that are continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats, Numbers, Scores
from dragoman.text import EOS_ID

_BLOCK_TOKENS = 32


@dataclass(frozen=True)
class BeamStep:
    """The result of one step of a beam.

    Finished hypotheses: each [ended], their sentence (index in the batch), their row of the beam and their log p.
    Continued rows: each [sentences, width]; an unused row has the log p −∞. `log_probs` include the `credits` of a
    constrained beam.
    """

    ended: Numbers
    ended_parents: Numbers
    ended_log_probs: Scores
    parents: Numbers
    tokens: Numbers
    log_probs: Scores
    ended_credits: Scores | None = None
    credits: Scores | None = None


class BeamAlgorithm(Protocol):
    """Refills a beam after each step. Immutable."""

    @property
    def width(self) -> int:
        """Number of rows per sentence."""

    @property
    def needs_attention(self) -> bool:
        """Whether `choose` needs attention weights."""

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> BeamStep:
        """Choose the next rows. `running` is the log p of each row, including credits.

        Shapes: log_probs [sentences, rows, vocab], running [sentences, rows], weights [sentences, rows, src]; rows is 1
        at the first step.
        """

    def advance(self, step: BeamStep) -> Self:
        """The algorithm after a step."""

    def select(self, sentences: Numbers) -> Self:
        """Keep these sentences (indices in the batch)."""


def split_finished(candidates: Candidates, width: int) -> BeamStep:
    """Finish the ended among the first `width` candidates; continue the first `width` others."""
    is_end = candidates.tokens == EOS_ID
    is_dead = np.isneginf(candidates.log_probs)
    ended, rank = np.nonzero((is_end & ~is_dead)[:, :width])
    order = np.argsort(is_end | is_dead, axis=1, kind="stable")[:, :width]
    others = candidates.taken(order)
    parents, tokens = others.parents, others.tokens
    log_probs = np.where(tokens == EOS_ID, -np.inf, others.log_probs)
    short = width - parents.shape[1]
    if short > 0:  # fewer tokens than rows
        parents, tokens = (np.pad(each, ((0, 0), (0, short))) for each in (parents, tokens))
        log_probs = np.pad(log_probs, ((0, 0), (0, short)), constant_values=-np.inf)
    return BeamStep(
        ended, candidates.parents[ended, rank], candidates.log_probs[ended, rank], parents, tokens, log_probs
    )


@dataclass(frozen=True)
class StandardBeam:
    """Standard beam search: the most likely of all continuations of all rows."""

    width: int
    needs_attention = False

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> BeamStep:
        return split_finished(topk_candidates(log_probs, running, 2 * self.width), self.width)

    def advance(self, step: BeamStep) -> Self:
        return self

    def select(self, sentences: Numbers) -> Self:
        return self


@dataclass(frozen=True)
class DiverseBeam:
    """Diverse beam search: groups choose one after the other, and a token costs `diversity` for each row of an earlier
    group that has just chosen it. Paper: [vijayakumar2016] (section 3, with the Hamming diversity of its section 5).
    """

    width: int
    groups: int
    diversity: float
    needs_attention = False

    @classmethod
    def of(cls, settings: SearchSettings) -> Self:
        return cls(settings.beam, settings.groups, settings.diversity)

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> BeamStep:
        size = self.width // self.groups
        steps: list[BeamStep] = []
        cost = np.zeros((len(log_probs), 1, log_probs.shape[2]), np.float32)
        for group in range(self.groups):
            first = 0 if running.shape[1] == 1 else group * size
            rows = slice(first, first + size)
            step = self._choose(log_probs[:, rows], running[:, rows], cost, size, first)
            alive = np.isfinite(step.log_probs)
            sentences, _ = np.nonzero(alive)
            np.add.at(cost[:, 0], (sentences, step.tokens[alive]), np.float32(self.diversity))
            np.add.at(cost[:, 0, EOS_ID], step.ended, np.float32(self.diversity))
            steps.append(step)
        return _concatenated(steps)

    def _choose(self, log_probs: Floats, running: Scores, cost: Floats, size: int, first: int) -> BeamStep:
        """The step of one group, chosen by log p minus the cost; the results are without the cost."""
        step = split_finished(topk_candidates(log_probs - cost, running, 2 * size), size)
        places = np.arange(len(log_probs))[:, np.newaxis]
        return BeamStep(
            step.ended,
            step.ended_parents + first,
            step.ended_log_probs + cost[step.ended, 0, EOS_ID],
            step.parents + first,
            step.tokens,
            step.log_probs + cost[places, 0, step.tokens],
        )

    def advance(self, step: BeamStep) -> Self:
        return self

    def select(self, sentences: Numbers) -> Self:
        return self


def _concatenated(steps: list[BeamStep]) -> BeamStep:
    """Combine the steps of all groups."""
    return BeamStep(
        *(np.concatenate([getattr(each, name) for each in steps]) for name in _ENDED),
        *(np.concatenate([getattr(each, name) for each in steps], 1) for name in _CONTINUED),
    )


_ENDED = ("ended", "ended_parents", "ended_log_probs")
_CONTINUED = ("parents", "tokens", "log_probs")


@dataclass(frozen=True)
class Candidates:
    """Continuations of rows `parents`, best first, with total `log_probs`. Shapes: each [sentences, count]."""

    parents: Numbers
    tokens: Numbers
    log_probs: Scores

    def taken(self, places: Numbers) -> Candidates:
        """Select candidates of each sentence. Shapes: places [sentences, n] -> each [sentences, n]."""
        return Candidates(
            np.take_along_axis(self.parents, places, 1),
            np.take_along_axis(self.tokens, places, 1),
            np.take_along_axis(self.log_probs, places, 1),
        )


def topk_candidates(log_probs: Floats, running: Scores, count: int) -> Candidates:
    """The `count` best of running + log_probs, or all if there are fewer.

    The best tokens are in the blocks with the best maxima: one pass over all tokens finds the maxima, and only a few
    blocks are searched. A block has every n-th token instead of neighbours, so that the pass is one `maximum` of long
    rows.

    Shapes: log_probs [sentences, width, vocab], running [sentences, width].
    """
    sentences, _, vocab = log_probs.shape
    columns = -(-vocab // _BLOCK_TOKENS)
    if columns < count:
        return topk_candidates_by_sorting(log_probs, running, count)
    maxima = _block_maxima(log_probs, columns)
    best = _best((maxima + running[..., np.newaxis]).reshape(sentences, -1), count)  # [sentences, count]
    parents, column = best // columns, best % columns
    tokens = column[..., np.newaxis] + columns * np.arange(_BLOCK_TOKENS)  # [sentences, count, _BLOCK_TOKENS]
    inside = tokens < vocab
    tokens[~inside] = 0
    sentence = np.arange(sentences)[:, np.newaxis, np.newaxis]
    values = log_probs[sentence, parents[..., np.newaxis], tokens].astype(np.float64)
    values += np.take_along_axis(running, parents, 1)[..., np.newaxis]
    values[~inside] = -np.inf
    return _candidates(values, np.broadcast_to(parents[..., np.newaxis], values.shape), tokens, count)


def topk_candidates_by_sorting(log_probs: Floats, running: Scores, count: int) -> Candidates:
    """The same by sorting all sums: for small vocabularies, and as a reference in tests. Shapes as above."""
    values = log_probs + running[..., np.newaxis]
    parents, tokens = np.indices(values.shape[1:])
    return _candidates(values, np.broadcast_to(parents, values.shape), np.broadcast_to(tokens, values.shape), count)


def _block_maxima(log_probs: Floats, columns: int) -> Floats:
    """Block n has the tokens n + columns · i. Shapes: [sentences, width, vocab] -> [sentences, width, columns]."""
    rows = log_probs.shape[-1] // columns
    whole, rest = np.split(log_probs, [rows * columns], axis=-1)
    maxima: Floats = whole.reshape(*log_probs.shape[:-1], rows, columns).max(-2)
    first = maxima[..., : rest.shape[-1]]
    np.maximum(first, rest, out=first)
    return maxima


def _candidates(values: Scores, parents: Numbers, tokens: Numbers, count: int) -> Candidates:
    """Shapes: each [sentences, …], the rest of one size -> [sentences, count]."""
    sentences = len(values)
    best = _best(values.reshape(sentences, -1), count)
    candidates = Candidates(
        parents.reshape(sentences, -1), tokens.reshape(sentences, -1), values.reshape(sentences, -1)
    )
    candidates = candidates.taken(best)
    # Ties: first in the beam, then first in the vocabulary, so that the order is deterministic.
    return candidates.taken(np.lexsort((candidates.tokens, candidates.parents, -candidates.log_probs)))


def _best(values: Scores, count: int) -> Numbers:
    """Indices of the `count` greatest of each row, unordered. Shapes: [rows, n] -> [rows, count]."""
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, values.shape[1] - count, axis=1)[:, -count:]
