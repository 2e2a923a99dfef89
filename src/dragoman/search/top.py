"""The best of many scores: the inner loop of beam search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.search.protocol import Floats, Numbers

__all__ = ["Candidates", "Scores", "top_candidates", "top_candidates_plainly"]

Scores = NDArray[np.float64]

_ROWS = 32  # words a block


@dataclass(frozen=True)
class Candidates:
    """Ways to go on, the best first. Shapes: each [sentences, count].

    `parents` are places in the beam, `tokens` the words that come next, `log_probs` those of all words up to here.
    """

    parents: Numbers
    tokens: Numbers
    log_probs: Scores

    def taken(self, places: Numbers) -> Candidates:
        """These of each sentence. Shapes: places [sentences, n] -> each [sentences, n]."""
        return Candidates(
            np.take_along_axis(self.parents, places, 1),
            np.take_along_axis(self.tokens, places, 1),
            np.take_along_axis(self.log_probs, places, 1),
        )


def top_candidates(log_probs: Floats, running: Scores, count: int) -> Candidates:
    """The `count` best of running + log_probs; as many as there are where that is fewer.

    The best words lie in the blocks with the best maxima, so one pass over all words finds the maxima of blocks, and
    the rest looks at a few blocks only. A block takes every n-th word, not neighbours: that pass is then one `maximum`
    of long rows.

    Shapes: log_probs [sentences, width, vocab], running [sentences, width].
    """
    sentences, _, vocab = log_probs.shape
    columns = -(-vocab // _ROWS)
    if columns < count:
        return top_candidates_plainly(log_probs, running, count)
    maxima = _block_maxima(log_probs, columns)
    best = _best((maxima + running[..., np.newaxis]).reshape(sentences, -1), count)  # [sentences, count]
    parents, column = best // columns, best % columns
    tokens = column[..., np.newaxis] + columns * np.arange(_ROWS)  # [sentences, count, _ROWS]
    inside = tokens < vocab
    tokens[~inside] = 0
    every = np.arange(sentences)[:, np.newaxis, np.newaxis]
    values = log_probs[every, parents[..., np.newaxis], tokens].astype(np.float64)
    values += np.take_along_axis(running, parents, 1)[..., np.newaxis]
    values[~inside] = -np.inf
    return _candidates(values, np.broadcast_to(parents[..., np.newaxis], values.shape), tokens, count)


def top_candidates_plainly(log_probs: Floats, running: Scores, count: int) -> Candidates:
    """The same by adding and sorting everything: for few words, and to compare with. Shapes as above."""
    values = log_probs + running[..., np.newaxis]
    parents, tokens = np.indices(values.shape[1:])
    return _candidates(values, np.broadcast_to(parents, values.shape), np.broadcast_to(tokens, values.shape), count)


def _block_maxima(log_probs: Floats, columns: int) -> Floats:
    """Block n is every word n + columns · i. Shapes: [sentences, width, vocab] -> [sentences, width, columns]."""
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
    found = Candidates(parents.reshape(sentences, -1), tokens.reshape(sentences, -1), values.reshape(sentences, -1))
    found = found.taken(best)
    # Of equal ones the first in the beam, and of these the first in the vocabulary, so that nothing is left to chance.
    return found.taken(np.lexsort((found.tokens, found.parents, -found.log_probs)))


def _best(values: Scores, count: int) -> Numbers:
    """Where the `count` greatest of each row are, in no order. Shapes: [rows, n] -> [rows, count]."""
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, values.shape[1] - count, axis=1)[:, -count:]
