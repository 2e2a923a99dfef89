"""Select the k best candidate tokens over all hypotheses of a beam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.search.decoding_protocol import Floats, Numbers, Scores

_BLOCK_TOKENS = 32


@dataclass(frozen=True)
class Candidates:
    """Continuations, the best first. Shapes: each [sentences, count].

    `parents` are rows of the beam, `tokens` the next tokens, `log_probs` the totals including them.
    """

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
