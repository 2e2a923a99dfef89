"""Compute the log-probability and the attention weights of given translations (forced decoding)."""

from collections.abc import Sequence

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import StartDecoding
from dragoman.search.hypothesis import Hypothesis, PartialHypotheses
from dragoman.search.penalties import Penalties
from dragoman.text import BOS_ID, EOS_ID


def forced_decode(
    start: StartDecoding,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    return_attention: bool = False,
) -> list[Hypothesis]:
    """Decode the given targets (token ids without specials) step by step; the score is the average log p per token."""
    penalties = Penalties(SearchSettings())
    state = start(sources, return_attention)
    rows = list(range(len(sources)))
    partial = PartialHypotheses.empty(len(rows))
    last = np.full(len(rows), BOS_ID)
    found: dict[int, Hypothesis] = {}
    while rows:
        step = partial.written.shape[1]
        output = state.step(last)
        state = output.next_state
        last = np.array([targets[row][step] if step < len(targets[row]) else EOS_ID for row in rows], np.int64)
        gained = output.log_probs[np.arange(len(rows)), last]
        partial = partial.with_attention(output.weights).append(last, partial.log_probs + gained)
        active = [place for place, row in enumerate(rows) if step < len(targets[row])]
        for place in set(range(len(rows))).difference(active):
            found[rows[place]] = partial.close(place, len(sources[rows[place]]), penalties).hypothesis
        if len(active) < len(rows):
            kept = np.array(active, np.int64)
            rows, last = [rows[place] for place in active], last[kept]
            partial, state = partial.select(kept), state.select(kept)
    return [found[row] for row in range(len(sources))]
